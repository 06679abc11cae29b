// Package cloudinit writes the first boot of a machine that becomes an LXD host. This is
// user-data that MAAS passes to cloud-init when it deploys the machine.
//
//	data, err := cloudinit.Host{TrustedCertificates: []string{publicPEM}}.Render()
//
// A Host with only a certificate is complete. It has LXD 5.21 from its snap, a ZFS pool of
// 50 GB, and VMs on the bridge br0 that MAAS made. Its project is maas. Its API on port
// 8443 trusts this one certificate, for this one project.
//
// # What happens, and when
//
// The user-data has three parts, because cloud-init works in stages, and each task is
// possible in only one stage:
//
//	init    maaslxd-lxd.sh     a boothook: starts the unit maaslxd-lxd and returns
//	config                     MAAS's own vendor-data tells snapd of the proxy
//	—       unit maaslxd-lxd   installs LXD from the channel, or refreshes it
//	final   maaslxd-lxd.yaml   cloud-init's module for LXD applies the preseed
//	final   00-maaslxd-host.sh a script: project's profile, trust, and a last look
//
// The preseed must not reach an LXD from another channel: LXD 5.21 cannot read a pool made
// by LXD 6. The section "snap:" of cloud-init would run early enough, but MAAS uses the
// same key to tell snapd its proxy. And user-data silently replaces vendor-data key by key.
// The same is true of "runcmd", "write_files", "packages" and "bootcmd".
//
// So a systemd unit between the two stages installs LXD. It is transient: nothing of it is
// left on the host.
//
// Everything runs once: a reboot changes nothing. After "cloud-init clean" everything runs
// again and finds nothing to do. LXD is never restarted while an instance runs.
//
// # What is never in it
//
// No secret. LXD trusts public certificates, and a private key among them is refused. A
// preseed cannot hold certificates in any release of LXD, so the script adds them.
//
// # What has been checked
//
// [Host.Validate] refuses settings that LXD would accept and fail on later: a root disk in
// a pool that does not exist, a bridge without an address. Every problem is a [FieldError]
// that names the field as users write it. [Host.Render] decodes the finished preseed
// strictly into LXD's own type, as "lxd init" does.
//
// [Merge] adds user-data of other origin: a user's, or the one that joins the machine to a
// cluster.
package cloudinit
