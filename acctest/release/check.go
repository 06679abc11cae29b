package release

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const projectName = "terraform-provider-maaslxd"

// Dist is a release that goreleaser made.
type Dist struct {
	Folder   string
	Version  string
	Manifest string // path of the registry's manifest, which is published under another name
}

// OpenDist reads the version of the release in the folder.
func OpenDist(folder, manifest string) (Dist, error) {
	data, err := os.ReadFile(filepath.Join(folder, "metadata.json"))
	if err != nil {
		return Dist{}, err
	}
	var said struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &said); err != nil || said.Version == "" {
		return Dist{}, fmt.Errorf("%s/metadata.json names no version (%v)", folder, err)
	}
	return Dist{Folder: folder, Version: said.Version, Manifest: manifest}, nil
}

// Check returns everything that registries or people would miss in the release:
// archives, their contents, their bills of materials and their checksums.
func (m Dist) Check(c Config) error {
	var wrong []error
	manifest := fmt.Sprintf("%s_%s_manifest.json", projectName, m.Version)
	want := map[string]string{manifest: m.Manifest} // the path of each file, by name
	for _, b := range c.Builds {
		for _, target := range b.Targets {
			a := archiveOf(b, target, m.Version)
			wrong = append(wrong, a.check(m.Folder), checkBill(filepath.Join(m.Folder, a.billFileName())))
			for _, file := range []string{a.fileName(), a.billFileName()} {
				want[file] = filepath.Join(m.Folder, file)
			}
		}
	}
	return errors.Join(append(wrong, m.checkSums(want))...)
}

// checkBill returns an error unless the bill names components.
func checkBill(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var bill struct {
		BOMFormat  string            `json:"bomFormat"`
		Components []json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(data, &bill); err != nil || bill.BOMFormat != "CycloneDX" || len(bill.Components) == 0 {
		return fmt.Errorf("%s is not a bill of materials (%v)", path, err)
	}
	return nil
}

// checkSums compares the list of checksums with the files by name. Each file
// must have a sum, and each sum a file.
func (m Dist) checkSums(want map[string]string) error {
	list := fmt.Sprintf("%s_%s_SHA256SUMS", projectName, m.Version)
	data, err := os.ReadFile(filepath.Join(m.Folder, list))
	if err != nil {
		return err
	}
	var wrong []error
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		path, ok := want[name]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s names %q, which is not part of the release", list, name))
			continue
		}
		seen[name] = true
		if content, err := os.ReadFile(path); err != nil || sum != fmt.Sprintf("%x", sha256.Sum256(content)) {
			wrong = append(wrong, fmt.Errorf("%s has a wrong sum of %s (%v)", list, name, err))
		}
	}
	for name := range want {
		if !seen[name] {
			wrong = append(wrong, fmt.Errorf("%s does not name %s", list, name))
		}
	}
	return errors.Join(wrong...)
}
