package cloudinit_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"
	"github.com/maaslxd/maaslxd/cloudinit"
	yaml "gopkg.in/yaml.v2"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares every byte of the rendered user-data.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, h := range goldenHosts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := renderHost(t, h)
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := readTestdata(t, name+".golden")
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("not as %s; if that is meant, run go test ./cloudinit -run TestGolden -update (-want +got):\n%s", file, diff)
			}
			if again := renderHost(t, h); !bytes.Equal(got, again) {
				t.Error("the same host rendered twice gave different bytes")
			}
		})
	}
}

// TestGoldenFiles fails if a golden file belongs to no host.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	known := goldenHosts(t)
	for _, file := range files {
		if _, ok := known[strings.TrimSuffix(filepath.Base(file), ".golden")]; !ok {
			t.Errorf("%s belongs to no host", file)
		}
	}
}

// TestRenderedConfig decodes the cloud-config: it has one key, a preseed that LXD decodes
// strictly and that equals Preseed's.
func TestRenderedConfig(t *testing.T) {
	t.Parallel()
	for name, h := range goldenHosts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preseed := renderedPreseed(t, renderHost(t, h))
			var got api.InitPreseed
			if err := yaml.UnmarshalStrict([]byte(preseed), &got); err != nil {
				t.Fatalf("LXD would refuse the preseed: %v\n%s", err, preseed)
			}
			want, err := h.Preseed()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(preseedTree(t, want), preseedTree(t, &got)); diff != "" {
				t.Errorf("the rendered preseed is not that of Preseed (-want +got):\n%s", diff)
			}
			if len(got.Node.StoragePools) == 0 || got.Node.Config["core.https_address"] == nil {
				t.Errorf("the preseed lacks pools or an address:\n%s", preseed)
			}
		})
	}
}

// renderedPreseed returns the preseed in user-data whose cloud-config has only the key lxd.
func renderedPreseed(t testing.TB, data []byte) string {
	t.Helper()
	body := partBody(t, data, "maaslxd-lxd.yaml")
	if !strings.HasPrefix(body, "#cloud-config\n") {
		t.Errorf("the first line is not #cloud-config:\n%s", body)
	}
	var config map[string]map[string]string
	if err := yaml.UnmarshalStrict([]byte(body), &config); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if len(config) != 1 || len(config["lxd"]) != 1 {
		t.Errorf("more than lxd.preseed would take something from MAAS's vendor-data: %v", config)
	}
	return config["lxd"]["preseed"]
}

// preseedTree makes values comparable, with empty and absent as equal.
func preseedTree(t testing.TB, preseed *api.InitPreseed) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(preseed)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("{}"), []byte("null")), []byte("[]"), []byte("null")), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestNoSecretNoForbiddenKey: rendered user-data must hold no secret key, and must not
// replace a key of MAAS's vendor-data.
func TestNoSecretNoForbiddenKey(t *testing.T) {
	t.Parallel()
	for name, h := range goldenHosts(t) {
		if name == "extra" {
			continue // its packages are the user's
		}
		for _, p := range splitMultipart(t, renderHost(t, h)) {
			for _, word := range []string{"PRIVATE KEY", "\ncertificates:", "\nruncmd:", "\nwrite_files:", "\nsnap:", "\nbootcmd:", "\npackages:"} {
				if strings.Contains("\n"+p.Body, word) {
					t.Errorf("%s: %s contains %q", name, p.Name, word)
				}
			}
		}
	}
}

// TestRenderRefuses: an invalid host and extra parts that cannot be merged are refused.
func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	if _, err := (cloudinit.Host{}).Render(); len(cloudinit.FieldErrors(err)) == 0 {
		t.Errorf("a host without a certificate was rendered: %v", err)
	}
	h := withTestCertificate(t, cloudinit.Host{Extra: [][]byte{[]byte("#cloud-config\nlxd: {init: {storage_backend: dir}}\n")}})
	if _, err := h.Render(); err == nil {
		t.Error("a second lxd: section was rendered")
	}
}

func renderHost(t testing.TB, h cloudinit.Host) []byte {
	t.Helper()
	data, err := h.Render()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
