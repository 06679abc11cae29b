package cloudinit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestCloudInitSchema checks every rendered cloud-config with cloud-init's own tool.
func TestCloudInitSchema(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("cloud-init is not on PATH (package cloud-init): no rendered file was checked by cloud-init schema")
	}
	if schemaErrors(t, "#cloud-config\nlxd: {preseed: [1]}\n") == "" {
		t.Fatal("cloud-init schema took a preseed that is a list: it checks nothing")
	}
	checked := map[string]bool{} // hosts can have the same one
	for name, h := range goldenHosts(t) {
		for _, p := range splitMultipart(t, renderHost(t, h)) {
			if p.Kind != "text/cloud-config" || checked[p.Body] {
				continue
			}
			checked[p.Body] = true
			if says := schemaErrors(t, p.Body); says != "" {
				t.Errorf("%s: %s: %s", name, p.Name, says)
			}
		}
	}
}

// schemaErrors returns cloud-init's errors about a cloud-config; empty if there are none.
// It does not use --annotate, because the exit status is then always 0.
func schemaErrors(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "cloud-init", "schema", "--config-file", file).CombinedOutput()
	if err == nil {
		return ""
	}
	return err.Error() + "\n" + string(out)
}

// splitProgram lists the parts that cloud-init sees in each document of standard input.
const splitProgram = `
import base64, json, sys
from cloudinit import helpers, user_data
processor = user_data.UserDataProcessor(helpers.Paths({"cloud_dir": "/nonexistent"}))
json.dump({name: [
    {"Kind": p.get_content_type(), "Name": p.get_filename(), "Body": p.get_payload(decode=True).decode()}
    for p in processor.process(base64.b64decode(data)).walk() if not p.is_multipart()]
    for name, data in json.load(sys.stdin).items()}, sys.stdout)
`

// TestCloudInitReads lets cloud-init split the user-data: the parts must be the same, byte
// by byte.
func TestCloudInitReads(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // that of the system, which has the package's modules
	if err := exec.CommandContext(t.Context(), python, "-c", "import cloudinit.user_data").Run(); err != nil {
		t.Skip("the system's Python has no cloudinit.user_data (package cloud-init): no rendered file was taken apart by cloud-init")
	}
	documents := map[string][]byte{}
	for name, h := range goldenHosts(t) {
		documents[name] = renderHost(t, h)
	}
	merged, err := cloudinit.Merge(documents["default"], gzipData(t, kubeadm), []byte("#cloud-boothook\n#!/bin/sh\nprintf 'a\\r'\r\n"), multipartUserData)
	if err != nil {
		t.Fatal(err)
	}
	documents["merged"] = merged
	for name, got := range readByCloudInit(t, python, documents) {
		want := splitMultipart(t, documents[name])
		for i := range want {
			if want[i].Name == "" && i < len(got) {
				want[i].Name = got[i].Name // which cloud-init numbered
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: cloud-init sees other parts (-want +got):\n%s", name, diff)
		}
	}
}

// readByCloudInit returns the parts of each document.
func readByCloudInit(t *testing.T, python string, documents map[string][]byte) map[string][]mimePart {
	t.Helper()
	input, err := json.Marshal(documents) // bytes become base64
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", splitProgram)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var parts map[string][]mimePart
	if err := json.Unmarshal(out, &parts); err != nil {
		t.Fatal(err)
	}
	if len(parts) != len(documents) {
		t.Fatalf("cloud-init read %d of %d documents", len(parts), len(documents))
	}
	return parts
}
