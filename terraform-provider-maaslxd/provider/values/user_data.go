package values

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// InstalledUserData is the user-data that a machine was installed with. cloud-init runs it at
// the first boot, and never runs later user-data.
type InstalledUserData struct {
	// Ran tells whether there was user-data.
	Ran bool `json:"ran,omitempty"`
	// Version of the user-data; nil for none.
	Version *int64 `json:"version,omitempty"`
}

// NewInstalledUserData records the user-data of a deployment.
func NewInstalledUserData(data types.String, version types.Int64) InstalledUserData {
	return InstalledUserData{Ran: IsSet(data) && data.ValueString() != "" || IsSet(version), Version: version.ValueInt64Pointer()}
}

// NeedsReinstall tells whether a version means user-data that a machine did not start with. No
// version asks for nothing new. If user-data ran without a version, the first version is taken
// to be its own.
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

// CheckUserData warns of a version without user-data, and of user-data without a version,
// whose changes nobody sees. The first argument names the object, such as "VM".
func CheckUserData(what string, data types.String, version types.Int64, diags *diag.Diagnostics) {
	at := path.Root("deploy")
	switch {
	case version.IsUnknown():
	case data.IsNull() && !version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo_version"), "A version without user-data",
			fmt.Sprintf("user_data_wo_version is set and user_data_wo is not. A change of the version replaces the %s nevertheless.", what))
	case !data.IsNull() && version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo"), "Changes of the user-data will not be seen",
			fmt.Sprintf("user_data_wo is write-only, so the plan cannot see that it changes. A %s that is installed never runs it. Set "+
				"user_data_wo_version, and change it with the user-data.", what))
	}
}
