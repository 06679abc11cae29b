package diagnostics

import "github.com/maaslxd/maaslxd/engine"

// ways are the engine's ways out in the words of Terraform.
var ways = map[engine.Way]string{
	engine.WayRetry:        "Then apply again.",
	engine.WayRetryDelete:  "Then destroy again.",
	engine.WayLookAgain:    "Then plan again: the plan shows what exists.",
	engine.WayImport:       "If nothing else manages it, import it: terraform import ADDRESS %s.",
	engine.WayImportLost:   "If the state of this configuration has lost it, import it: terraform import ADDRESS %s.",
	engine.WayImportFormer: "If you made it under a former owner, import it: terraform import ADDRESS %s.",
	engine.WayMovedBlock:   "If you only moved the resource in the configuration, for example from count to for_each, write a moved block.",
	engine.WayUseAsIs:      "To use it as it is, adopt or import it.",
	engine.WayForget:       "To stop managing it, remove it from the state: terraform state rm ADDRESS.",
	engine.WayDeleteFirst:  "To replace a VM, delete it first: create_before_destroy cannot keep a name.",
	engine.WayLoseContents: "Or set force_destroy, if everything on it may be lost.",
	engine.WayLoseHost: "If the LXD is lost for good, give the VM up with its VM host. Set force_destroy = true on the VM host, and apply. Run terraform state rm for " +
		"each VM on it. Then remove the VM host and its VMs from the configuration, and apply. Read first what is lost: " + GuideURL("troubleshooting", "an-lxd-server-is-lost-for-good") + ".",
	engine.WayAdoptVMs:        "Or set adopt_existing_vms, if you want that.",
	engine.WayComposeInLXD:    `Or set composer = "lxd", which makes VMs in LXD itself. Read first when you can go back: ` + GuideURL("moving-off-vm-hosts", "move-before-the-upgrade") + ".",
	engine.WayComposeAgain:    `If this provider made them with composer = "lxd", set that again.`,
	engine.WayAskLXD:          `Set composer = "auto", which asks the LXD.`,
	engine.WayMakeHostFirst:   "If such a VM host is still to be made, give the VM depends_on = [maaslxd_vm_host.NAME]. Terraform then makes the VM host first.",
	engine.WayDeleteToRelease: "Destroy it to release it.",
	engine.WayOtherName:       "If another configuration manages it, choose another name.",
	engine.WayInstallAgain:    "To deploy the VM again, repeat the apply or the action that asked for it.",
	engine.WayTakeSnapshot:    "The action maaslxd_snapshot takes one.",
	engine.WayInsecureKey:     "Set api_url to that address. Or set allow_insecure_key = true in the provider block, if you trust the network between.",
}

// advice is a hint, followed by the ways in the words of Terraform.
func advice(hint string, offered []engine.Way) string { return engine.Advice(hint, offered, ways) }
