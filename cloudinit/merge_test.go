package cloudinit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/maaslxd/maaslxd/cloudinit"
)

var (
	// kubeadm is bootstrap data as Cluster API's kubeadm provider writes it.
	kubeadm = []byte("## template: jinja\n#cloud-config\n\nwrite_files:\n-   path: /run/kubeadm/kubeadm.yaml\n    content: |\n      name: '{{ ds.meta_data.local_hostname }}'\nruncmd:\n  - 'kubeadm join --config /run/kubeadm/kubeadm.yaml'\n")
	// multipartUserData is a nested multi-part of another tool, with one part in base64 and
	// one in quoted-printable.
	multipartUserData = []byte("Content-Type: multipart/mixed; boundary=\"A\"\r\nMIME-Version: 1.0\r\n\r\nfor people\r\n--A\r\n" +
		"Content-Type: text/cloud-config; charset=\"utf-8\"\r\nX-Merge-Type: list(append)\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		base64.StdEncoding.EncodeToString([]byte("#cloud-config\nssh_authorized_keys: [é]\n")) + "\r\n--A\r\n" +
		"Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=hello.sh\r\n" +
		"Content-Transfer-Encoding: quoted-printable\r\n\r\n#!/bin/sh\r\necho =3D\r\n--B--\r\n--A--\r\n")
)

func gzipData(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestMergeTakes: every kind keeps its kind and its bytes, after ours.
func TestMergeTakes(t *testing.T) {
	t.Parallel()
	ours := renderHost(t, goldenHosts(t)["default"])
	script := []byte("#!/bin/bash\necho hello\n")
	cases := map[string]struct {
		reason string
		theirs [][]byte
		want   []mimePart
	}{
		"Nothing":  {"An absent user-data is none.", [][]byte{nil, []byte(" \n")}, nil},
		"Config":   {"The plain kind.", [][]byte{[]byte("#cloud-config\nruncmd: [x]\n")}, []mimePart{{"text/cloud-config", "", "#cloud-config\nruncmd: [x]\n"}}},
		"Jinja":    {"What Cluster API gives.", [][]byte{kubeadm}, []mimePart{{"text/jinja2", "", string(kubeadm)}}},
		"Script":   {"A script.", [][]byte{script}, []mimePart{{"text/x-shellscript", "", string(script)}}},
		"Gzip":     {"Compressed as a whole.", [][]byte{gzipData(t, script)}, []mimePart{{"text/x-shellscript", "", string(script)}}},
		"Boothook": {"Runs early.", [][]byte{[]byte("#cloud-boothook\n#!/bin/sh\n")}, []mimePart{{"text/cloud-boothook", "", "#cloud-boothook\n#!/bin/sh\n"}}},
		"Include":  {"Fetched by the machine.", [][]byte{[]byte("#include\nhttps://example.com/a\n")}, []mimePart{{"text/x-include-url", "", "#include\nhttps://example.com/a\n"}}},
		"Archive":  {"Another form of several parts.", [][]byte{[]byte("#cloud-config-archive\n- 'packages: [a]'\n- {type: text/x-shellscript, content: '#!/bin/sh'}\n")}, []mimePart{{"text/cloud-config-archive", "", "#cloud-config-archive\n- 'packages: [a]'\n- {type: text/x-shellscript, content: '#!/bin/sh'}\n"}}},
		"Multi": {"Flattened; what is plain is looked into.", [][]byte{multipartUserData}, []mimePart{
			{"text/cloud-config", "", "#cloud-config\nssh_authorized_keys: [é]\n"},
			{"text/x-shellscript", "hello.sh", "#!/bin/sh\r\necho ="},
		}},
		"MIMEInside": {"The words of a MIME message in a cloud-config do not make it one.",
			[][]byte{[]byte("#cloud-config\nwrite_files: [{content: 'MIME-Version: 1.0'}]\n")},
			[]mimePart{{"text/cloud-config", "", "#cloud-config\nwrite_files: [{content: 'MIME-Version: 1.0'}]\n"}}},
		"HowToMerge": {"Who says how to merge may repeat a key.",
			[][]byte{[]byte("#cloud-config\nruncmd: [x]\n"), []byte("#cloud-config\nruncmd: [y]\nmerge_how: list(append)\n")},
			[]mimePart{{"text/cloud-config", "", "#cloud-config\nruncmd: [x]\n"}, {"text/cloud-config", "", "#cloud-config\nruncmd: [y]\nmerge_how: list(append)\n"}}},
		"OwnHandler": {"A part handler may bring its own kinds.",
			[][]byte{[]byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\n--A\nContent-Type: text/part-handler\n\n#part-handler\n--A\nContent-Type: text/x-own\n\nx\n--A--\n")},
			[]mimePart{{"text/part-handler", "", "#part-handler"}, {"text/x-own", "", "x"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := cloudinit.Merge(ours, tc.theirs...)
			if err != nil {
				t.Fatal(err)
			}
			want := append(splitMultipart(t, ours), tc.want...)
			if diff := cmp.Diff(want, splitMultipart(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			again, err := cloudinit.Merge(ours, tc.theirs...)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("a second merge gave other bytes, or %v", err)
			}
		})
	}
}

// TestMergeKeepsHeaders: headers keep saying how to merge, and on which machine.
func TestMergeKeepsHeaders(t *testing.T) {
	t.Parallel()
	got, err := cloudinit.Merge(nil, multipartUserData)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "\nX-Merge-Type: list(append)\n") {
		t.Errorf("the header X-Merge-Type is lost:\n%s", got)
	}
}

// TestMergeRefuses: an error names every part that cloud-init would silently drop.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	ours := renderHost(t, goldenHosts(t)["default"])
	config := func(body string) []byte { return []byte("#cloud-config\n" + body + "\n") }
	cases := map[string]struct {
		reason   string
		theirs   [][]byte
		document int
		says     string
	}{
		"LXD":          {"It would replace ours.", [][]byte{config("lxd: {init: {}}")}, 1, "it has an lxd: section (line 2), which"},
		"LXDMerged":    {"However it is merged.", [][]byte{config("lxd: {}\nmerge_how: dict(recurse_dict)")}, 1, "lxd: section"},
		"LXDJinja":     {"In a template.", [][]byte{[]byte("## template: jinja\n#cloud-config\nlxd:\n  init: {}\n")}, 1, "lxd: section (line 3)"},
		"LXDArchive":   {"In an archive.", [][]byte{[]byte("#cloud-config-archive\n- 'runcmd: [x]'\n- content: 'lxd: {}'\n")}, 1, "lxd: section (entry 2, line 1)"},
		"LXDFlow":      {"In braces no line begins with it.", [][]byte{config("{package_update: true, lxd: {}}")}, 1, "it has an lxd: section, which"},
		"LXDGzip":      {"Compressed.", [][]byte{nil, gzipData(t, config("lxd: {}"))}, 2, "lxd: section"},
		"SameKey":      {"The last one would win.", [][]byte{kubeadm, config("runcmd: [x]")}, 2, "its key runcmd (line 2) would replace that of user-data 1"},
		"Ignition":     {"Not cloud-init's.", [][]byte{[]byte(`{"ignition": {"version": "3.4.0"}}`)}, 1, "Ignition"},
		"JSON":         {"A cloud-config without its first line.", [][]byte{[]byte(`{"runcmd": []}`)}, 1, "without the line #cloud-config"},
		"Base64":       {"Encoded already.", [][]byte{[]byte(base64.StdEncoding.EncodeToString(kubeadm))}, 1, "base64"},
		"Text":         {"Nothing that is known.", [][]byte{[]byte("runcmd: []\n")}, 1, "ignore"},
		"YAML":         {"cloud-init only warns.", [][]byte{config("a: [")}, 1, "YAML cannot be read"},
		"List":         {"A cloud-config is a map.", [][]byte{config("- a")}, 1, "YAML cannot be read"},
		"Archive":      {"An archive is a list.", [][]byte{[]byte("#cloud-config-archive\na: b\n")}, 1, "an archive is a list"},
		"Gzip":         {"Damaged.", [][]byte{gzipData(t, kubeadm)[:40]}, 1, "gzip is damaged"},
		"Bomb":         {"Larger than any user-data.", [][]byte{gzipData(t, make([]byte, 17<<20))}, 1, "more than 16 MiB"},
		"Latin1":       {"cloud-init reads UTF-8.", [][]byte{[]byte("#!/bin/sh\necho \xe9\n")}, 1, "UTF-8"},
		"UnknownPart":  {"Nobody runs it.", [][]byte{[]byte("MIME-Version: 1.0\nContent-Type: text/x-own\n\nx\n")}, 1, "cloud-init does not know its type"},
		"BrokenMIME":   {"No boundary.", [][]byte{[]byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\nx\n")}, 1, "multi-part cannot be read"},
		"Encoding":     {"Not of this world.", [][]byte{[]byte("MIME-Version: 1.0\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: x-uu\n\nx\n")}, 1, "Content-Transfer-Encoding is unknown"},
		"OurName":      {"It would be written over our script.", [][]byte{[]byte("MIME-Version: 1.0\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=00-maaslxd-host.sh\n\n#!/bin/sh\n")}, 1, "file name is also that of the host's own user-data, part 00-maaslxd-host.sh"},
		"NearlyOurs":   {"cloud-init drops what it does not like in a name.", [][]byte{[]byte("MIME-Version: 1.0\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"00-maaslxd-host!.sh\"\n\n#!/bin/sh\n")}, 1, "file name is also that of the host's own user-data, part 00-maaslxd-host.sh"},
		"ArchiveInOne": {"cloud-init does not go into it.", [][]byte{[]byte("#cloud-config-archive\n- \"#cloud-config-archive\\n- a\"\n")}, 1, "archive contains another archive"},
		"Nested":       {"Deeper than anybody writes.", [][]byte{nestedMultipart(10)}, 1, "nested more than 8 deep"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudinit.Merge(ours, tc.theirs...)
			var refusal *cloudinit.MergeError
			if !errors.As(err, &refusal) {
				t.Fatalf("%s\ngot %v, want a MergeError", tc.reason, err)
			}
			if text := refusal.Message + "; " + refusal.Hint; refusal.Document != tc.document || !strings.Contains(text, tc.says) {
				t.Errorf("%s\ngot document %d, %q; want %d, %q", tc.reason, refusal.Document, text, tc.document, tc.says)
			}
		})
	}
}

// TestMergeNamesThePart: for user-data with several parts, the error names the part.
func TestMergeNamesThePart(t *testing.T) {
	t.Parallel()
	ours := renderHost(t, goldenHosts(t)["default"])
	parts := func(second string) []byte {
		return []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\n--A\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--A\n" +
			"Content-Type: text/cloud-config\n" + second + "\n\n#cloud-config\npackages: [htop]\n\nlxd: {}\n--A--\n")
	}
	cases := map[string]struct {
		reason, header, part string
	}{
		"Named":   {"By its file name.", "Content-Disposition: attachment; filename=mine.yaml", "mine.yaml"},
		"Unnamed": {"Else by its number.", "X-Merge-Type: list(append)", "2"},
		"Odd":     {"A name that is odd may be a secret that slipped there.", "Content-Disposition: attachment; filename=\"pass word\"", "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudinit.Merge(ours, parts(tc.header))
			var refusal *cloudinit.MergeError
			if !errors.As(err, &refusal) {
				t.Fatalf("%s\ngot %v, want a MergeError", tc.reason, err)
			}
			want := cloudinit.MergeError{
				Document: 1, Part: tc.part, Message: "it has an lxd: section (line 4), which would replace that of the host",
				Hint: "remove it; what it sets up belongs to the host's own settings",
			}
			if diff := cmp.Diff(want, *refusal); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// nestedMultipart returns a multi-part nested to the given depth.
func nestedMultipart(deep int) []byte {
	text := "Content-Type: text/x-shellscript\n\n#!/bin/sh\n"
	for range deep {
		text = "Content-Type: multipart/mixed; boundary=" + strings.Repeat("A", deep) + "\n\n--" + strings.Repeat("A", deep) + "\n" + text + "\n--" + strings.Repeat("A", deep) + "--\n"
		deep--
	}
	return []byte("MIME-Version: 1.0\n" + text)
}

// TestMergeWarnings: the user's own keys are allowed, and a warning says what they replace.
func TestMergeWarnings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		theirs [][]byte
		want   []string
	}{
		"None":    {"Nothing of MAAS's is touched.", [][]byte{[]byte("#cloud-config\nbyobu_by_default: system\n"), []byte("#!/bin/sh\n"), []byte("unknown")}, nil},
		"Kubeadm": {"Both keys are MAAS's, too.", [][]byte{kubeadm}, []string{"user-data 1: its runcmd: replaces MAAS's", "user-data 1: its write_files: replaces MAAS's"}},
		"Snap":    {"The snap store may then be out of reach.", [][]byte{nil, []byte("#cloud-config\nsnap: {commands: [x]}\n")}, []string{"user-data 2: its snap: replaces MAAS's, if MAAS sets it: snapd's proxy"}},
		"Include": {"Only the machine knows what it fetches.", [][]byte{[]byte("#include\nhttps://example.com/a\n")}, []string{"user-data 1: the machine fetches what it includes, so it cannot be checked"}},
		"Patch":   {"A patch may touch ours.", [][]byte{[]byte("#cloud-config-jsonp\n[]\n")}, []string{"user-data 1: a patch"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cloudinit.Warnings(tc.theirs...)
			if len(got) != len(tc.want) {
				t.Fatalf("%s\ngot %q, want %d", tc.reason, got, len(tc.want))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("%s\ngot %q, want %q…", tc.reason, got[i], tc.want[i])
				}
			}
		})
	}
}

// FuzzMerge: whatever the input is, ours arrives complete and first. Nothing is added to
// the rest, and a second merge gives the same result.
func FuzzMerge(f *testing.F) {
	ours := renderHost(f, goldenHosts(f)["default"])
	for _, seed := range [][]byte{nil, kubeadm, multipartUserData, gzipData(f, multipartUserData), ours, []byte("#cloud-config-archive\n- a\n"), []byte("#include\nx")} {
		f.Add(seed)
	}
	first := splitMultipart(f, ours)
	f.Fuzz(func(t *testing.T, theirs []byte) {
		merged, err := cloudinit.Merge(ours, theirs)
		if err != nil {
			if refusal := (*cloudinit.MergeError)(nil); !errors.As(err, &refusal) {
				t.Fatalf("not a MergeError: %v", err)
			}
			return
		}
		got := splitMultipart(t, merged)
		if diff := cmp.Diff(first, got[:min(len(first), len(got))]); diff != "" {
			t.Fatalf("ours is not first (-want +got):\n%s", diff)
		}
		again, err := cloudinit.Merge(merged)
		if err != nil {
			t.Fatalf("cannot read its own result: %v\n%s", err, merged)
		}
		if diff := cmp.Diff(got, splitMultipart(t, again)); diff != "" {
			t.Fatalf("reading its own result changes it (-want +got):\n%s", diff)
		}
	})
}
