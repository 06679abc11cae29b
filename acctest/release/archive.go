package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licenceFiles are in each archive.
var licenceFiles = []string{"LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"}

// archive is a file that a release must have.
type archive struct {
	name    string // without its extension
	zipped  bool   // a zip; else a tar.gz
	program string // the program in it, beside the texts
}

// archiveOf is the archive of a build for a target. The registries of Terraform
// and OpenTofu find the provider by these names.
func archiveOf(b Build, target Target, version string) archive {
	program := filepath.Base(b.Main)
	a := archive{name: fmt.Sprintf("%s_%s_%s", program, version, target), program: program}
	if b.ID == "provider" {
		a.zipped, a.program = true, program+"_v"+version
	}
	if target.GOOS == "windows" {
		a.program += ".exe"
	}
	return a
}

func (a archive) fileName() string {
	if a.zipped {
		return a.name + ".zip"
	}
	return a.name + ".tar.gz"
}

// billFileName is the name of the program's bill of materials.
func (a archive) billFileName() string { return a.name + ".cdx.json" }

// check compares the contents of the archive in the folder with what it should
// have.
func (a archive) check(folder string) error {
	list := tarEntries
	if a.zipped {
		list = zipEntries
	}
	got, err := list(filepath.Join(folder, a.fileName()))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", a.fileName(), err)
	}
	want := append(slices.Clone(licenceFiles), a.program)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s holds %s, want %s", a.fileName(), strings.Join(got, " "), strings.Join(want, " "))
	}
	return nil
}

func zipEntries(path string) ([]string, error) {
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read from
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	return names, nil
}

func tarEntries(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read from
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var names []string
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, header.Name)
	}
}
