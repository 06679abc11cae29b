// Package cloudinit writes the first boot of a machine that is to become an
// LXD host: user-data that MAAS hands to cloud-init when it deploys.
//
//	data, err := cloudinit.Host{TrustedCertificates: []string{publicPEM}}.Render()
//
// The zero Host but for a certificate is a whole host: LXD 5.21 from its snap,
// a ZFS pool of 50 GB, VMs on the bridge br0 that MAAS made, the project maas,
// and an API on port 8443 that trusts this one certificate, for this one
// project.
//
// # What happens, and when
//
// The user-data has three parts, because cloud-init works in stages, and each
// thing has only one in which it can be done:
//
//	init    maaslxd-lxd.sh     a boothook: starts the unit maaslxd-lxd and returns
//	config                     MAAS's own vendor-data tells snapd of the proxy
//	—       unit maaslxd-lxd   installs LXD from the channel, or refreshes it
//	final   maaslxd-lxd.yaml   cloud-init's module for LXD applies the preseed
//	final   00-maaslxd-host.sh a script: project's profile, trust, and a last look
//
// The preseed must not meet an LXD from another channel: a pool made by LXD 6
// cannot be read by LXD 5.21. cloud-init's "snap:" section would run early
// enough, but under that very key MAAS tells snapd of its proxy, and
// cloud-init lets user-data replace vendor-data key by key, silently. The same
// is true of "runcmd", "write_files", "packages" and "bootcmd". So a unit that
// systemd holds between the two stages does it. It is transient: nothing is
// left on the host.
//
// What runs once runs once: a reboot changes nothing. After "cloud-init clean"
// everything runs again and finds that it has nothing to do. LXD is never
// restarted while an instance runs.
//
// # What is never in it
//
// No secret: LXD trusts public certificates, and a private key among them is
// refused. A preseed cannot carry certificates in any release of LXD, so the
// script adds them.
//
// # What has been checked
//
// [Host.Validate] refuses what LXD would take and fail on later: a root disk
// in a pool that does not exist, a bridge without an address. Every problem is
// a [FieldError] that names the field as users spell it. [Host.Render] gives
// the finished preseed to LXD's own type, strictly, as "lxd init" does.
//
// [Merge] puts user-data of other origin beside it: a user's, or that which
// joins the machine to a cluster.
package cloudinit
