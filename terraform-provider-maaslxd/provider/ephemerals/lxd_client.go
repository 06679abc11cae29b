// Package ephemerals holds the provider's ephemeral resources: values that a run gets and that
// no plan or state keeps.
package ephemerals

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ ephemeral.EphemeralResourceWithConfigure = (*lxdClient)(nil)

// NewLXDClient makes the ephemeral resource maaslxd_lxd_client.
func NewLXDClient() ephemeral.EphemeralResource { return &lxdClient{} }

// lxdClient is the ephemeral resource maaslxd_lxd_client: the address and key pair for a
// client of the LXD of a VM host.
type lxdClient struct {
	client *client.Client
}

type lxdClientModel struct {
	VMHost            types.String `tfsdk:"vm_host"`
	Address           types.String `tfsdk:"address"`
	Project           types.String `tfsdk:"project"`
	ServerFingerprint types.String `tfsdk:"server_fingerprint"`
	ClientCertificate types.String `tfsdk:"client_certificate"`
	ClientKey         types.String `tfsdk:"client_key"`
}

// Metadata names the ephemeral resource.
func (e *lxdClient) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lxd_client"
}

// Configure takes the client of the provider block.
func (e *lxdClient) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	e.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// Schema takes a VM host and returns what a client of its LXD needs.
func (e *lxdClient) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Address and key pair for a client of the LXD of a VM host, such as the provider `lxd` in the same project. Plan and " +
			"state hold nothing of it. It needs Terraform 1.10 or OpenTofu 1.11.\n\nThe VM host trusts the certificate of the fleet for one LXD " +
			"project. LXD gives such a restricted certificate no trust token, so the client uses the key pair of the fleet.",
		Attributes: map[string]schema.Attribute{
			"vm_host": schema.StringAttribute{
				Required: true, MarkdownDescription: "VM host: its name or id, or the system id of its machine, such as `maaslxd_vm_host.kvm1.id`. The " +
					"id is unknown until the VM host is made, so a first plan does not ask for it.",
				Validators: []validator.String{values.NotEmpty()},
			},
			"address": schema.StringAttribute{Computed: true, MarkdownDescription: "Address of the LXD as MAAS reaches it, such as `https://10.0.0.5:8443`."},
			"project": schema.StringAttribute{Computed: true, MarkdownDescription: "LXD project with the VMs of the VM host. The certificate gives access to no other project."},
			"server_fingerprint": schema.StringAttribute{
				Computed: true, MarkdownDescription: "SHA-256 of the LXD's certificate, in hex. Null if nobody has recorded it: with `probe = " +
					"\"maas\"` the provider asks no LXD.",
			},
			"client_certificate": schema.StringAttribute{Computed: true, MarkdownDescription: "Certificate of the key pair of the fleet, as PEM text."},
			"client_key":         schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "Private key of `client_certificate`, as PEM text."},
		},
	}
}

// Open finds the VM host and the key pair.
func (e *lxdClient) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m lxdClientModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	b, err := e.client.Backend()
	if err == nil {
		err = m.fill(ctx, b, diags)
	}
	if err != nil {
		diagnostics.ReportError(diags, "tell how to reach the LXD of VM host "+m.VMHost.ValueString(), err)
		return
	}
	diags.Append(resp.Result.Set(ctx, &m)...)
}

// fill completes the model for its VM host.
func (m *lxdClientModel) fill(ctx context.Context, b *client.Backend, diags *diag.Diagnostics) error {
	host, err := findVMHost(ctx, b, m.VMHost.ValueString())
	if err != nil {
		return err
	}
	key, err := b.Key.Load()
	if err != nil {
		return keyPairError(host, err)
	}
	at, err := b.Inventory.Endpoint(ctx, host)
	if err != nil {
		return err
	}
	var machine engine.Machine // empty for an LXD that MAAS never reached
	if host.MachineID != "" {
		if machine, err = b.Machines.Machine(ctx, host.MachineID); err != nil {
			return err
		}
	}
	warnOtherKey(host, machine, key, diags)
	m.Address, m.Project = types.StringValue(at.URL()), types.StringValue(at.Project)
	m.ServerFingerprint = values.OptionalString(machine.OwnerData[engine.ServerFingerprintData])
	m.ClientCertificate, m.ClientKey = types.StringValue(key.Certificate), types.StringValue(key.Credentials.Key)
	return nil
}

// findVMHost finds a VM host by its name, its id, or the system id of its machine.
func findVMHost(ctx context.Context, b *client.Backend, name string) (engine.VMHost, error) {
	all, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	var names []string
	for _, h := range all {
		if h.MatchesName(name) {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return engine.VMHost{}, engine.UnknownNameError(fieldpath.New("vm_host"), "VM host", name, names)
}

// keyPairError explains a missing key pair, and where it may be. The provider makes none here:
// no LXD would trust it.
func keyPairError(host engine.VMHost, err error) error {
	if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the fleet's key pair that VM host %s trusts is not here: %v", host.Name, err),
		Hint:    "Give the pair as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger that it was made beside.",
		Err:     engine.ErrForbidden,
	}
}

// warnOtherKey warns that the VM host was made with another key pair. Somebody may have added
// this one since.
func warnOtherKey(host engine.VMHost, machine engine.Machine, key fleetkey.Key, diags *diag.Diagnostics) {
	noted := machine.TrustedFingerprint()
	if noted == "" || noted == key.Fingerprint {
		return
	}
	diags.AddAttributeWarning(path.Root("vm_host"), "The VM host may not trust the key pair at hand", fmt.Sprintf(
		"VM host %s was made to trust the certificate %s, and the pair at hand is %s. If its LXD does not know that certificate, it refuses the client.",
		host.Name, noted, key.Fingerprint))
}
