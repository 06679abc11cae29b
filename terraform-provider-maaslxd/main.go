// Command terraform-provider-maaslxd serves the Terraform provider for LXD
// virtual machines on the VM hosts of a MAAS.
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"os"
	rundebug "runtime/debug"

	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "dev"

// gcPercent lets the heap grow to five times the size of the live data before a collection. A
// plan allocates 3 MB for each VM, and keeps almost nothing of it. With Go's default, a third
// of the CPU time of a plan went into collections.
const gcPercent = 400

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger and for Terraform to attach to this process")
	flag.Parse()
	if isSDKLogUnread(*debug, os.LookupEnv) {
		os.Setenv(sdkLogVariable, "off") //nolint:errcheck // the log is only longer than need be
	}
	if os.Getenv("GOGC") == "" {
		rundebug.SetGCPercent(gcPercent)
	}
	served := provider.New(version)()
	err := serveProvider(served, *debug)
	if closer, ok := served.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serveProvider serves Terraform until Terraform is done.
func serveProvider(p framework.Provider, debug bool) error {
	server, err := newServer(p)
	if err != nil {
		return err
	}
	var options []tf6server.ServeOpt
	if debug {
		options = append(options, tf6server.WithManagedDebug())
	}
	return tf6server.Serve("registry.terraform.io/maaslxd/maaslxd", func() tfprotov6.ProviderServer { return server }, options...)
}
