package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine/lxd"
)

// warnNext tells, once in a run, that new hosts are made to trust a pair that lies
// beside the ledger: who put it there opens them.
func (r *planRun) warnNext(key *fleetKey, next []string, diags *diag.Diagnostics) {
	if len(next) == 0 || !r.once("next pair") {
		return
	}
	file, _ := key.file(lxd.NextFile)
	diags.AddWarning("New VM hosts trust the next key pair, too", fmt.Sprintf(
		"They are made to trust %v, which %s holds, beside the pair of the fleet. If you did not put it there to change the pair, delete it, and make the hosts anew.",
		fingerprints(next...), file))
}
