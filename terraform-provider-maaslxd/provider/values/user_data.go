package values

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// InstalledUserData tell what user-data a machine was installed with: cloud-init runs
// it at the first boot, and what is given later never runs.
type InstalledUserData struct {
	// Ran: there was some.
	Ran bool `json:"ran,omitempty"`
	// Version that was given with it, nil for none.
	Version *int64 `json:"version,omitempty"`
}

// NewInstalledUserData notes the user-data of a deployment.
func NewInstalledUserData(data types.String, version types.Int64) InstalledUserData {
	return InstalledUserData{Ran: IsSet(data) && data.ValueString() != "" || IsSet(version), Version: version.ValueInt64Pointer()}
}

// NeedsReinstall tells whether a version stands for user-data that a machine did not
// start with. Without a version nothing new is asked for. The first version of
// user-data that ran without one is believed to be its own.
func (n InstalledUserData) NeedsReinstall(want, had types.Int64, believed bool) bool {
	switch {
	case want.IsUnknown():
		return true
	case want.IsNull(), believed, want.Equal(had):
		return false
	case had.IsNull() && n.Ran:
		return n.Version != nil && *n.Version != want.ValueInt64()
	}
	return true
}

// CheckUserData warns of a version of nothing, and of user-data without a
// version, whose changes nobody sees. What is made with it is a VM or a host.
func CheckUserData(what string, data types.String, version types.Int64, diags *diag.Diagnostics) {
	at := path.Root("deploy")
	switch {
	case version.IsUnknown():
	case data.IsNull() && !version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo_version"), "A version of no user-data",
			fmt.Sprintf("user_data_wo_version is set and user_data_wo is not. A change of the version replaces the %s all the same.", what))
	case !data.IsNull() && version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo"), "Changes of the user-data will not be seen",
			fmt.Sprintf("user_data_wo is write-only, so nothing tells a later value from this one, or from none: a %s that is installed never runs it. "+
				"Set user_data_wo_version, and change it with the user-data.", what))
	}
}
