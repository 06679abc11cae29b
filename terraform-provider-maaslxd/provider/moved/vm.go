// Package moved is what the states of other providers say of a VM that a "moved" block
// hands over to maaslxd_vm, and how the VM is found by it.
package moved

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ImportUsage says what names a VM in an import.
const ImportUsage = "Import a VM by its system id (\"4y3h7n\"), its hostname (\"web-1\") or its FQDN (\"web-1.example.com\")."

// The resources that "moved" blocks may come from.
const (
	canonicalVM       = "maas_vm_host_machine"
	canonicalInstance = "maas_instance"
	lxdInstance       = "lxd_instance"
)

// lxdVM is the type of those instances of LXD that are VMs.
const lxdVM = "virtual-machine"

// VM is what the state of another provider says of a VM.
type VM struct {
	// Kind is the resource that it was, such as "maas_instance".
	Kind string `json:"kind"`
	// SystemID of its machine; empty if it was an instance of LXD.
	SystemID string `json:"system_id,omitempty"`
	// Name and Project of its instance in LXD. Project is empty where the state leaves
	// it to the provider's configuration.
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"`
	// MAC address of one of its interfaces; empty where LXD did not tell any.
	MAC string `json:"mac,omitempty"`
}

// ReadVM reads the state of another provider's VM. Nil is another resource, or one that
// cannot be taken over, which the diagnostics then tell.
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
		diags.AddError("Cannot take over a "+req.SourceTypeName, diagnostics.Sentence(err.Error())+" Take the moved block out. "+
			"If it is a VM of MAAS, remove the resource from the state with a removed block, and import the VM. "+ImportUsage)
		return nil
	}
	m.Kind = req.SourceTypeName
	return &m
}

// readMAASState is a machine of MAAS, which its system id names.
func readMAASState(req resource.MoveStateRequest) (VM, error) {
	state, err := values.MovedStrings(req, "id")
	if err == nil && state["id"] == "" {
		err = errors.New("its state names no machine")
	}
	return VM{SystemID: state["id"]}, err
}

// readLXDState is an instance that MAAS may know by the same name. States of old versions may
// lack its type; LXD then makes containers.
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

// PlaceholderID is what stands for the system id in the state until the VM is found.
func (m VM) PlaceholderID() string {
	if m.SystemID != "" {
		return m.SystemID
	}
	return m.Name
}

// AddUnreadError is for a plan by a state that says nothing else yet: it would seem that
// everything of the VM is to change.
func (m VM) AddUnreadError(diags *diag.Diagnostics) {
	diags.AddError("The moved VM was not looked at", fmt.Sprintf(
		"The state of %s was a %s, and says nothing else before the first refresh. Plan without -refresh=false.", m.describe(), m.Kind))
}
