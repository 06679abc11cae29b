// Package ledger are the commands of the ledger as a service: serve it to the Terraform
// runs and managers of several machines, say who may use it, and look after what it holds.
package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// Run runs one of the commands.
func Run(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "serve", What: "serve a ledger to Terraform runs and managers on several machines", Run: Serve},
		{Name: "client", What: "say who may use the service: client add|list|revoke", Run: Client},
		{Name: "rows", What: "list what the ledger holds: which room is reserved for which key", Run: listRows},
		{Name: "forget", What: "drop the rows of an owner who never comes back: forget KEY…", Run: forgetRows},
		{Name: "import", What: "move the rows of a file into the service's ledger: import FILE", Run: importRows},
		{Name: "backup", What: "copy the service's ledger into a file, while it is in use: backup FILE", Run: backup},
		{Name: "restore", What: "copy a backup into the empty ledger of a new service: restore FILE", Run: restore},
		{Name: "cluster", What: "look after a ledger on several nodes: cluster init|status|remove|recover", Run: Cluster},
		{Name: "export", What: "move rows of the service's ledger into a file: export FILE", Run: exportRows},
	}.Run(ctx, p)
}

// Client runs one of the commands about clients.
func Client(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "add", What: "make a certificate for a client: add NAME --region REGION --prefix OWNER", Run: addClient},
		{Name: "list", What: "list the clients and their rights", Run: listClients},
		{Name: "revoke", What: "refuse a client from its next request on: revoke NAME", Run: revokeClient},
	}.Run(ctx, p)
}

// DefaultFolder is where a service keeps its ledger, its authority and its clients.
const DefaultFolder = "/var/lib/maaslxd-ledger"

// addFolder adds the setting of the folder.
func addFolder(s *setting.Settings, folder *string) {
	s.Text(folder, "dir", "LEDGER_DIR", DefaultFolder, "folder of the ledger's file, its certificate authority and its clients")
}
