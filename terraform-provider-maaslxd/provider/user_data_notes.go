package provider

import "github.com/hashicorp/terraform-plugin-framework/types"

// userDataNotes tell what user-data a machine was installed with: cloud-init runs
// it at the first boot, and what is given later never runs.
type userDataNotes struct {
	// Ran: there was some.
	Ran bool `json:"ran,omitempty"`
	// Version that was given with it, nil for none.
	Version *int64 `json:"version,omitempty"`
}

// installedWith notes the user-data of a deployment.
func installedWith(data types.String, version types.Int64) userDataNotes {
	return userDataNotes{Ran: set(data) && data.ValueString() != "" || set(version), Version: version.ValueInt64Pointer()}
}

// newUserData tells whether a version stands for user-data that a machine did not
// start with. Without a version nothing new is asked for. The first version of
// user-data that ran without one is believed to be its own.
func (n userDataNotes) newUserData(want, had types.Int64, believed bool) bool {
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
