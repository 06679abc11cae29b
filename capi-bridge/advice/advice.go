// Package advice words the engine's ways out for users of the bridge.
package advice

import "github.com/maaslxd/maaslxd/engine"

// ways are the engine's ways out in the words of the bridge. An empty way does not exist here:
// the manager tries again by itself, and an object cannot be imported.
var ways = map[engine.Way]string{
	engine.WayRetry:           "",
	engine.WayRetryDelete:     "",
	engine.WayLookAgain:       "",
	engine.WayImport:          "",
	engine.WayImportLost:      "",
	engine.WayImportFormer:    "",
	engine.WayMovedBlock:      "",
	engine.WayUseAsIs:         "",
	engine.WayForget:          "",
	engine.WayDeleteFirst:     "",
	engine.WayLoseContents:    "",
	engine.WayLoseHost:        "If the LXD is lost for good, delete the machine of the VM in MAAS. Where VMs are made in LXD, also take the tag maaslxd-host off the machine of the LXD.",
	engine.WayMakeHostFirst:   "",
	engine.WayAdoptVMs:        "Or register the host in MAAS yourself.",
	engine.WayComposeInLXD:    "Or start the manager with --composer=lxd, which makes VMs in LXD itself.",
	engine.WayComposeAgain:    "If this manager made them with --composer=lxd, set that again.",
	engine.WayAskLXD:          "Start the manager with --composer=auto, which asks the LXD.",
	engine.WayDeleteToRelease: "Delete the Machine of the cluster to release it.",
	engine.WayOtherName:       "Choose another name.",
	engine.WayInstallAgain:    "",
	engine.WayTakeSnapshot:    "",
	engine.WayInsecureKey:     "Or start the manager with --allow-insecure-key, if you trust the network between.",
}

// NoVMHosts is the way out if MAAS has no VM hosts.
const NoVMHosts = "MAAS removed VM hosts after 3.8. Start the manager with --composer=auto, which makes VMs in LXD itself there."

// JoinHint is a hint, followed by the ways in the words of the bridge.
func JoinHint(hint string, offered []engine.Way) string { return engine.Advice(hint, offered, ways) }
