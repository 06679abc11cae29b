// Command capi-bridge is the bridge between Cluster API and a MAAS with LXD
// hosts. Its other commands set up LXD on nodes, and check LXD and MAAS.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	// The image has no certificates of its own: the program uses these where
	// the system has none.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/maaslxd/maaslxd/capi-bridge/check"
	"github.com/maaslxd/maaslxd/capi-bridge/inithost"
	"github.com/maaslxd/maaslxd/capi-bridge/ledger"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// version is set in a release build: -ldflags "-X main.version=1.2.3".
var version = "dev"

var commands = setting.Commands{
	{Name: "manager", Summary: "run the controllers of Cluster API's MaasCluster and MaasMachine", Run: manager.Run},
	{Name: "init-host", Summary: "set up the LXD of this node, so that VMs can be made on it", Run: inithost.Run},
	{Name: "check", Summary: "check an LXD, a VM host to be, a MAAS, or its upgrade: check lxd|vm-host|maas|upgrade", Run: check.Run},
	{Name: "ledger", Summary: "keep a ledger for several machines: ledger serve|client|rows|forget|import|export|backup|restore|cluster", Run: ledger.Run},
	{Name: "version", Summary: "print the version", Run: func(_ context.Context, p setting.Program) error {
		_, err := fmt.Fprintln(p.Stdout, p.Version)
		return err
	}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := commands.Run(ctx, setting.Program{
		Name: "capi-bridge", Args: os.Args[1:], Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr, Version: version,
	})
	stop()
	os.Exit(setting.ExitCode(err, os.Stderr))
}
