// Command terraform-provider-maaslxd serves the Terraform provider for LXD
// virtual machines on the VM hosts of a MAAS.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"os"

	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger and for Terraform to attach to this process")
	flag.Parse()
	if unread(*debug, os.LookupEnv) {
		os.Setenv(sdkLogVariable, "off") //nolint:errcheck // the log is only longer than need be
	}
	served := provider.New(version)()
	err := providerserver.Serve(context.Background(), func() framework.Provider { return served }, providerserver.ServeOpts{
		Address: "registry.terraform.io/maaslxd/maaslxd",
		Debug:   *debug,
	})
	if closer, ok := served.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}
