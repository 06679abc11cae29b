package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

const (
	goodTerraform = "echo 'Terraform v1.11.4'; echo 'on linux_amd64'"
	oldTerraform  = "echo 'Terraform v1.5.7'"
	goodTofu      = "echo 'OpenTofu v1.12.6'"
	failingScript = "exit 3"
	otherProgram  = "echo 'hello'"
	// buildingGo answers "go mod download" with a directory, and "go build"
	// by writing an OpenTofu to the path after -o.
	buildingGo = `
if [ "$1" = mod ]; then echo '{"Dir": "/"}'; exit 0; fi
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho OpenTofu v1.12.6\n' >"$2"; /bin/chmod +x "$2"`
	offlineGo = `echo '{"Error": "no route to the module proxy"}'; exit 1`
)

func TestFindCLI(t *testing.T) {
	cases := map[string]struct {
		reason   string
		programs map[string]string // on PATH: name → shell script
		variable string            // script of TF_ACC_TERRAFORM_PATH; empty: not set
		build    string            // value of MAASLXD_BUILD_CLI
		want     string            // product and version
		err      string
		log      string
	}{
		"VariableWins": {
			reason:   "What the user names is used, whatever is on PATH.",
			programs: map[string]string{"terraform": goodTerraform},
			variable: goodTofu,
			want:     "OpenTofu 1.12.6",
		},
		"BrokenVariableIsNotReplaced": {
			reason:   "A user who names a CLI must not be given another one silently.",
			programs: map[string]string{"terraform": goodTerraform},
			variable: failingScript,
			err:      PathVariable,
		},
		"OldVariableIsRefused": {
			reason:   "Write-only attributes need 1.11.",
			variable: oldTerraform,
			err:      "older than 1.11",
		},
		"TerraformOnPath": {
			reason:   "Terraform comes before OpenTofu.",
			programs: map[string]string{"terraform": goodTerraform, "tofu": goodTofu},
			want:     "Terraform 1.11.4",
			log:      "using Terraform 1.11.4",
		},
		"OldTerraformIsPassedOver": {
			reason:   "An old Terraform is not used, and that is said.",
			programs: map[string]string{"terraform": oldTerraform, "tofu": goodTofu},
			want:     "OpenTofu 1.12.6",
			log:      "passing over terraform",
		},
		"StrangerIsPassedOver": {
			reason:   "A program of that name may be something else.",
			programs: map[string]string{"terraform": otherProgram, "tofu": goodTofu},
			want:     "OpenTofu 1.12.6",
			log:      "neither Terraform nor OpenTofu",
		},
		"Built": {
			reason:   "With nothing on PATH, OpenTofu is built from its module.",
			programs: map[string]string{"go": buildingGo},
			want:     "OpenTofu 1.12.6",
			log:      "built ",
		},
		"BuiltOnRequest": {
			reason:   "A product that is asked for is built, whatever is on PATH.",
			programs: map[string]string{"terraform": goodTerraform, "go": buildingGo},
			variable: goodTerraform,
			build:    "opentofu",
			want:     "OpenTofu 1.12.6",
			log:      "built ",
		},
		"UnknownRequest": {
			reason: "A typo in the request is told, with what it takes.",
			build:  "tofu",
			err:    `MAASLXD_BUILD_CLI is "tofu": set it to opentofu or terraform`,
		},
		"CannotBuild": {
			reason:   "The error passes on what go said and names a way out.",
			programs: map[string]string{"go": offlineGo},
			err:      "no route to the module proxy; install Terraform or OpenTofu",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", scriptFolder(t, tc.programs))
			var log bytes.Buffer
			f := &Finder{ToolsDir: t.TempDir(), Log: &log}
			if tc.variable != "" {
				dir := scriptFolder(t, map[string]string{"chosen": tc.variable})
				f.Environ = []string{PathVariable + "=" + filepath.Join(dir, "chosen")}
			}
			if tc.build != "" {
				f.Environ = append(f.Environ, BuildVariable+"="+tc.build)
			}
			got, err := f.Find(t.Context())
			checkError(t, tc.reason, err, tc.err)
			if tc.err == "" && got.Product+" "+got.Version != tc.want {
				t.Errorf("%s\nfound %s, want %s", tc.reason, got, tc.want)
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("%s\nlog is %q, want %q in it", tc.reason, log.String(), tc.log)
			}
		})
	}
}

func TestFindBuildsOnce(t *testing.T) {
	t.Setenv("PATH", scriptFolder(t, map[string]string{"go": buildingGo}))
	f := &Finder{ToolsDir: t.TempDir(), Log: new(bytes.Buffer)}
	first, err := f.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", scriptFolder(t, map[string]string{"go": offlineGo}))
	second, err := f.Find(t.Context())
	if err != nil {
		t.Fatalf("the second call built again: %v", err)
	}
	if first != second {
		t.Errorf("second call found %s, first %s", second, first)
	}
}

// scriptFolder makes a folder of shell scripts that serves as PATH.
func scriptFolder(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := executable.WriteProgram(filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkError wants no error, or one with the text in it.
func checkError(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatalf("%s\n%v", reason, err)
	case want != "" && err == nil:
		t.Fatalf("%s\nno error, want one with %q", reason, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Fatalf("%s\nerror is %q, want %q in it", reason, err, want)
	}
}
