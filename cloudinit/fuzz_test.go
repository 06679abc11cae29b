package cloudinit_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v2"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// FuzzRender: a host of any texts is refused, or its user-data has one section for LXD in
// YAML, whose preseed has the texts as given.
func FuzzRender(f *testing.F) {
	f.Add("5.21/stable", "default", "zfs", "/dev/sdb", "br0", "bridge", "", "maas", "de'sc\n", "limits.cpu", "2", "default", []byte("#cloud-config\npackages: [x]\n"), "16GiB", int64(0))
	f.Add("latest/edge/x", "p1", "dir", "", "mv0", "macvlan", "eno1", "p", "'\n---\nlxd: {}\n", "user.x", "\x00", "maas", []byte("#!/bin/sh\nEOF\n"), "", int64(20))
	f.Add("5.0/stable", "a", "lvm", "vg", "lxdbr0", "managed", "10.0.0.1/24", "x", "é\u2028\u0085", "a.b", "yes", "d", []byte(nil), "c", int64(10))
	f.Add("5.21/stable", "a", "dir", "/srv/$(id)`x`'\"", "lxdbr0", "bridge", "", "x", "~", "a", "0x1f", "d", []byte("#cloud-boothook\n"), "c", int64(0))
	f.Fuzz(func(t *testing.T, channel, pool, driver, source, net, kind, parent, project, description, key, value, profile string, extra []byte, limit string, size int64) {
		network := cloudinit.Network{Kind: cloudinit.NetworkKind(kind)}
		if network.Kind == cloudinit.Managed {
			network.IPv4Address = parent
		} else {
			network.Parent = parent
		}
		h := withTestCertificate(t, cloudinit.Host{
			Channel:      channel,
			StoragePools: map[string]cloudinit.StoragePool{pool: {Driver: cloudinit.Driver(driver), Source: source, SizeGB: size}},
			Networks:     map[string]cloudinit.Network{net: network},
			Project:      cloudinit.Project{Name: project, Description: description, Limits: map[string]string{"limits.memory": limit}},
			Profile:      cloudinit.Profile{Name: profile, Config: map[string]string{key: value}},
		})
		if len(extra) > 0 {
			h.Extra = [][]byte{extra}
		}
		out, err := h.Render()
		if err != nil {
			return
		}
		if sections := lxdSections(t, splitMultipart(t, out)[:1]); sections != 1 {
			t.Fatalf("%d sections for LXD:\n%s", sections, out)
		}
		if again, err := h.Render(); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("the second time it is another one: %v", err)
		}
		preseed, err := h.Preseed()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range preseed.Node.Projects {
			if p.Name == project && p.Description != description {
				t.Fatalf("the description %q became %q", description, p.Description)
			}
		}
	})
}

// lxdSections counts the lxd sections of the parts that are cloud-config.
func lxdSections(t *testing.T, parts []mimePart) (sections int) {
	t.Helper()
	for _, p := range parts {
		var config map[string]any
		if !strings.HasPrefix(p.Body, "#cloud-config\n") {
			continue
		}
		if err := yaml.Unmarshal([]byte(p.Body), &config); err != nil {
			t.Fatalf("%v:\n%s", err, p.Body)
		}
		if _, ok := config["lxd"]; ok {
			sections++
		}
	}
	return sections
}

// FuzzMergeMany: several documents arrive as each would alone, in their order, after ours.
func FuzzMergeMany(f *testing.F) {
	ours := renderHost(f, goldenHosts(f)["default"])
	f.Add([]byte("#cloud-config\na: 1\n"), []byte("#!/bin/sh\n"), []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"=\"\n\n--=\nContent-Type: text/cloud-config\n\nx: 1\n--=--\n"))
	f.Add([]byte("## template: jinja\n#cloud-config\na: 1\n"), []byte("#include\nhttp://x\n"), []byte("#cloud-config-archive\n- a\n"))
	f.Add(multipartUserData, gzipData(f, multipartUserData), kubeadm)
	first := splitMultipart(f, ours)
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		merged, err := cloudinit.Merge(ours, a, b, c)
		if err != nil {
			return
		}
		want := slices.Clone(first)
		for _, theirs := range [][]byte{a, b, c} {
			alone, err := cloudinit.Merge(ours, theirs)
			if err != nil {
				t.Fatalf("%q is refused alone: %v", theirs, err)
			}
			want = append(want, splitMultipart(t, alone)[len(first):]...)
		}
		if diff := cmp.Diff(partBodies(want), partBodies(splitMultipart(t, merged))); diff != "" {
			t.Fatalf("together they are others than alone (-want +got):\n%s", diff)
		}
	})
}

// partBodies returns the contents of parts: their names may be numbered.
func partBodies(parts []mimePart) []string {
	all := make([]string, len(parts))
	for n, p := range parts {
		all[n] = p.Kind + "\n" + p.Body
	}
	return all
}
