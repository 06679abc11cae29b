// Package moved reads the states of other providers' VMs. A "moved" block hands such a VM over
// to maaslxd_vm, and the package finds it.
package moved

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ImportUsage says how an import names a VM.
const ImportUsage = "Import a VM by its system id (\"4y3h7n\"), its hostname (\"web-1\") or its FQDN (\"web-1.example.com\")."

// These are the resources that a "moved" block may name.
const (
	canonicalVM       = "maas_vm_host_machine"
	canonicalInstance = "maas_instance"
	lxdInstance       = "lxd_instance"
)

// lxdVM is the type of LXD's instances that are VMs.
const lxdVM = "virtual-machine"

// VM is a VM in the state of another provider.
type VM struct {
	// Kind is its former resource, such as "maas_instance".
	Kind string `json:"kind"`
	// SystemID of its machine; empty if it was an instance of LXD.
	SystemID string `json:"system_id,omitempty"`
	// Name and Project of its instance in LXD. Project is empty if the state does not have it.
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"`
	// MAC address of one of its interfaces; empty if LXD reported none.
	MAC string `json:"mac,omitempty"`
}

// ReadVM reads the state of another provider's VM. It is nil for another resource. It is also
// nil for one that cannot be taken over, and the diagnostics say why.
func ReadVM(req resource.MoveStateRequest, diags *diag.Diagnostics) *VM {
	var m VM
	var err error
	switch kind := req.SourceTypeName; {
	case (kind == canonicalVM || kind == canonicalInstance) && values.IsMoveFrom(req, values.ProvidersOfMAAS):
		m, err = readMAASState(req)
	case kind == lxdInstance && values.IsMoveFrom(req, values.ProvidersOfLXD):
		m, err = readLXDState(req)
	default:
		return nil
	}
	if err != nil {
		diags.AddError("Cannot take over a "+values.MovedObjectText(req), diagnostics.Sentence(err.Error())+
			" Remove the moved block. If it is a VM of MAAS, remove it from the state with terraform state rm, and import the VM. "+
			ImportUsage)
		return nil
	}
	m.Kind = req.SourceTypeName
	return &m
}

// readMAASState reads a machine of MAAS by its system id.
func readMAASState(req resource.MoveStateRequest) (VM, error) {
	state, err := values.MovedStrings(req, "id")
	if err == nil && state["id"] == "" {
		err = errors.New("its state names no machine")
	}
	return VM{SystemID: state["id"]}, err
}

// readLXDState reads an instance that MAAS may know by the same name. States of old versions
// may have no type: LXD then makes containers.
func readLXDState(req resource.MoveStateRequest) (VM, error) {
	state, err := values.MovedStrings(req, "name", "type", "project", "mac_address")
	switch {
	case err != nil:
	case state["name"] == "":
		err = errors.New("its state names no instance")
	case state["type"] != lxdVM:
		err = fmt.Errorf("instance %s is a container, and a maaslxd_vm is a VM", state["name"])
	}
	return VM{Name: state["name"], Project: state["project"], MAC: state["mac_address"]}, err
}

// PlaceholderID is in the state instead of the system id until the VM is found.
func (m VM) PlaceholderID() string {
	if m.SystemID != "" {
		return m.SystemID
	}
	return m.Name
}

// AddUnreadError reports a plan with a moved state before its first refresh: every attribute
// of the VM would seem to change.
func (m VM) AddUnreadError(diags *diag.Diagnostics) {
	diags.AddError("The moved VM was not refreshed", fmt.Sprintf(
		"The state of %s comes from a %s and has no other attributes yet. The first refresh reads them. Plan without -refresh=false. "+
			"If the plan did refresh, the configuration lacks this resource: give maaslxd_vm the keys of the former resource.", m.describe(), m.Kind))
}
