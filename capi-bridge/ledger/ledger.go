// Package ledger holds the commands of the ledger service. They serve a ledger
// to the Terraform runs and managers of several machines, register its clients,
// and maintain its rows.
package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// Run runs one of the commands, which args name.
func Run(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "serve", Summary: "serve a ledger to Terraform runs and managers on several machines", Run: RunServe},
		{Name: "client", Summary: "manage the clients of the service: client add|list|revoke", Run: RunClient},
		{Name: "rows", Summary: "list the rows of the ledger: which room is reserved for which key", Run: listRows},
		{Name: "forget", Summary: "drop the rows of an owner who never comes back: forget KEY…", Run: forgetRows},
		{Name: "import", Summary: "move the rows of a file into the service's ledger: import FILE", Run: importRows},
		{Name: "backup", Summary: "copy the service's ledger into a file, while it is in use: backup FILE", Run: backUpLedger},
		{Name: "restore", Summary: "copy a backup into the empty ledger of a new service: restore FILE", Run: restoreLedger},
		{Name: "cluster", Summary: "manage a ledger on several nodes: cluster init|status|remove|recover", Run: RunCluster},
		{Name: "export", Summary: "move rows of the service's ledger into a file: export FILE", Run: exportRows},
	}.Run(ctx, p)
}

// RunClient runs one of the commands about clients.
func RunClient(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "add", Summary: "make a certificate for a client: add NAME --region REGION --prefix OWNER", Run: addClient},
		{Name: "list", Summary: "list the clients and their rights", Run: listClients},
		{Name: "revoke", Summary: "refuse a client from its next request on: revoke NAME", Run: revokeClient},
	}.Run(ctx, p)
}

// DefaultFolder is the default folder of the ledger, its authority and its
// clients.
const DefaultFolder = "/var/lib/maaslxd-ledger"

// addFolder adds the setting of the service's folder.
func addFolder(s *setting.Settings, folder *string) {
	s.AddText(folder, "dir", "LEDGER_DIR", DefaultFolder, "folder of the ledger's file, its certificate authority and its clients")
}
