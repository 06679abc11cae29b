package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLicences collects the licences of the real programs, for each of their
// systems.
func TestLicences(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "../../.goreleaser.yaml", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/canonical/lxd v", "github.com/hashicorp/terraform-plugin-framework v", "Go (golang.org)", "modernc.org/sqlite v", "k8s.io/client-go v",
		"github.com/pkg/xattr v",           // linked for Linux only
		"github.com/ncruces/go-strftime v", // linked for other systems than Linux
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing is said of %s", want)
		}
	}
}

func TestLicenceOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		files  map[string]string
		says   string // "": the package may be linked
	}{
		"Root":     {"The module's licence counts for all of it.", map[string]string{"LICENSE": "Apache License"}, ""},
		"Nearest":  {"A folder may have a licence of its own.", map[string]string{"COPYING": "GNU AFFERO GENERAL PUBLIC LICENSE", "client/COPYING": "Apache License"}, ""},
		"Copyleft": {"It would be ours, too.", map[string]string{"COPYING": "                    GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3"}, "is under the"},
		"Lesser":   {"Static programs cannot be linked anew.", map[string]string{"COPYING": "GNU LESSER GENERAL PUBLIC LICENSE"}, "is under the"},
		"Mozilla":  {"It names others, and asks for a notice.", map[string]string{"LICENSE": "Mozilla Public License\n or the GNU General Public License"}, ""},
		"None":     {"Nothing permits its use.", nil, "has no licence"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, body := range tc.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(root, "client")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := collectTexts([]linkedPackage{{"example.com/m/client", dir, "example.com/m v1", root}})
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s got %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}
