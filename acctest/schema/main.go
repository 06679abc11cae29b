// Schema prints the provider's schema as tfplugindocs reads it with
// --providers-schema, so that the documentation can be made with Terraform
// and with OpenTofu alike, and without a network.
//
//	schema [-bin DIR]
//
// DIR holds the built provider, bin by default.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// shortName is the key under which tfplugindocs looks for the provider.
const shortName = "maaslxd"

// configuration is the least that names the provider.
const configuration = `terraform {
  required_providers {
    maaslxd = { source = "` + cli.ProviderSource + `" }
  }
}
`

func main() {
	bin := flag.String("bin", "bin", "`directory` of the built provider")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// run finds a CLI, asks it for the schema and prints that.
func run(ctx context.Context, out io.Writer, bin string) error {
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	raw, err := ask(ctx, found, bin)
	if err != nil {
		return err
	}
	short, err := shorten(raw)
	if err != nil {
		return err
	}
	_, err = out.Write(short)
	return err
}

// ask runs "providers schema -json" in an empty directory.
func ask(ctx context.Context, c cli.CLI, bin string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "maaslxd-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overrides := filepath.Join(dir, "cli.tfrc")
	if err := cli.WriteOverrides(overrides, bin); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Path, "providers", "schema", "-json")
	cmd.Dir, cmd.Env = dir, c.WithOverrides(os.Environ(), overrides)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s providers schema: %w\n%s", c.Path, err, stderr.Bytes())
	}
	return raw, nil
}

// shorten replaces the provider's full address, which begins with the CLI's
// own registry, by its short name.
func shorten(raw []byte) ([]byte, error) {
	var document struct {
		FormatVersion string                     `json:"format_version"`
		Schemas       map[string]json.RawMessage `json:"provider_schemas"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	for address, schema := range document.Schemas {
		if strings.HasSuffix(address, "/"+cli.ProviderSource) {
			document.Schemas = map[string]json.RawMessage{shortName: schema}
			return json.Marshal(document)
		}
	}
	return nil, fmt.Errorf("the schema does not have %s", cli.ProviderSource)
}
