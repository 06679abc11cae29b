package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/release"
)

var smallConfig = release.Config{Builds: []release.Build{
	{ID: "provider", Main: "./terraform-provider-maaslxd", Targets: []release.Target{{GOOS: "linux", GOARCH: "arm64"}, {GOOS: "windows", GOARCH: "amd64"}}},
	{ID: "bridge", Main: "./capi-bridge", Targets: []release.Target{{GOOS: "linux", GOARCH: "s390x"}}},
}}

const billText = `{"bomFormat": "CycloneDX", "components": [{"name": "std"}]}`

// wholeRelease has all files that the registries look for, by name.
func wholeRelease(t *testing.T) map[string][]byte {
	t.Helper()
	const provider = "terraform-provider-maaslxd"
	return map[string][]byte{
		provider + "_1.2.3_linux_arm64.zip":        zipOf(t, provider+"_v1.2.3", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"),
		provider + "_1.2.3_windows_amd64.zip":      zipOf(t, provider+"_v1.2.3.exe", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"),
		"capi-bridge_1.2.3_linux_s390x.tar.gz":     tarOf(t, "capi-bridge", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"),
		provider + "_1.2.3_linux_arm64.cdx.json":   []byte(billText),
		provider + "_1.2.3_windows_amd64.cdx.json": []byte(billText),
		"capi-bridge_1.2.3_linux_s390x.cdx.json":   []byte(billText),
		provider + "_1.2.3_manifest.json":          []byte(`{"version": 1}`),
	}
}

func TestCheckRelease(t *testing.T) {
	t.Parallel()
	const linux, windows, bridge = "terraform-provider-maaslxd_1.2.3_linux_arm64", "terraform-provider-maaslxd_1.2.3_windows_amd64", "capi-bridge_1.2.3_linux_s390x"
	cases := map[string]struct {
		reason string
		spoil  func(t *testing.T, files map[string][]byte) // runs before the checksums are made
		later  func(files map[string][]byte)               // runs after they are made
		says   string
	}{
		"Whole": {reason: "Nothing is missing."},
		"NoTexts": {
			reason: "goreleaser only warns of a file that it does not find.",
			spoil: func(t *testing.T, f map[string][]byte) {
				f[linux+".zip"] = zipOf(t, "terraform-provider-maaslxd_v1.2.3", "LICENSE", "NOTICE")
			},
			says: "linux_arm64.zip holds",
		},
		"NoVersionInTheProgramsName": {
			reason: "Terraform looks for it.",
			spoil: func(t *testing.T, f map[string][]byte) {
				f[linux+".zip"] = zipOf(t, "terraform-provider-maaslxd", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES")
			},
			says: "linux_arm64.zip holds",
		},
		"InAFolder": {
			reason: "Terraform looks for the program at the top.",
			spoil: func(t *testing.T, f map[string][]byte) {
				f[bridge+".tar.gz"] = tarOf(t, "bin/capi-bridge", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES")
			},
			says: "s390x.tar.gz holds",
		},
		"NoArchive": {
			reason: "A target was forgotten.",
			spoil:  func(_ *testing.T, f map[string][]byte) { delete(f, windows+".zip") },
			says:   "cannot read " + windows + ".zip",
		},
		"EmptyBill": {
			reason: "A program without parts was not looked into.",
			spoil:  func(_ *testing.T, f map[string][]byte) { f[linux+".cdx.json"] = []byte(`{"bomFormat": "CycloneDX"}`) },
			says:   "is not a bill of materials",
		},
		"NoSumOfTheManifest": {
			reason: "The registry wants it.",
			spoil:  func(_ *testing.T, f map[string][]byte) { delete(f, "terraform-provider-maaslxd_1.2.3_manifest.json") },
			says:   "does not name terraform-provider-maaslxd_1.2.3_manifest.json",
		},
		"WrongSum": {
			reason: "A file was changed after its sum was made.",
			later:  func(f map[string][]byte) { f[linux+".cdx.json"] = []byte(billText + " ") },
			says:   "wrong sum of " + linux + ".cdx.json",
		},
		"Stranger": {
			reason: "Nobody knows what it is.",
			spoil:  func(_ *testing.T, f map[string][]byte) { f["other.zip"] = nil },
			says:   `names "other.zip"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := wholeRelease(t)
			if tc.spoil != nil {
				tc.spoil(t, files)
			}
			var sums strings.Builder
			for file, content := range files {
				fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file)
			}
			if tc.later != nil {
				tc.later(files)
			}
			files["terraform-provider-maaslxd_1.2.3_SHA256SUMS"] = []byte(sums.String())
			err := checkFiles(t, files)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s got %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

// checkFiles writes the files as goreleaser does. The manifest is in another
// place.
func checkFiles(t *testing.T, files map[string][]byte) error {
	t.Helper()
	folder, manifest := t.TempDir(), filepath.Join(t.TempDir(), "manifest.json")
	files["metadata.json"] = []byte(`{"version": "1.2.3"}`)
	for file, content := range files {
		path := filepath.Join(folder, file)
		if strings.HasSuffix(file, "_manifest.json") {
			path = manifest
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := release.OpenDist(folder, manifest)
	if err != nil {
		t.Fatal(err)
	}
	return made.Check(smallConfig)
}

func zipOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
