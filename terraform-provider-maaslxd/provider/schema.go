package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/engine/site"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// Schema is that of the provider block.
func (p *maaslxdProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	attributes := map[string]schema.Attribute{}
	for _, group := range []map[string]schema.Attribute{maasAttributes(), ownershipAttributes(), creationAttributes(), ledgerServiceAttributes(), keyAttributes()} {
		maps.Copy(attributes, group)
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes LXD hosts of the machines of a [MAAS](https://canonical.com/maas), and LXD virtual machines on them. It also " +
			"deploys bare metal without LXD.\n\nThe provider first calls MAAS when a resource needs it. So plans of other things work without a " +
			"MAAS, and so do plans whose MAAS is not there yet. To make VMs you need the API key of a MAAS administrator. MAAS up to 3.8 composes " +
			"VMs on its VM hosts. For later ones the provider makes them in LXD and enlists them: see `composer`.",
		Attributes: attributes,
	}
}

// maasAttributes name the MAAS, and the limits of calls to it.
func maasAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_url": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Address of MAAS, such as `https://maas.example.com:5443/MAAS`. `/MAAS` may be left out. " +
				"Environment: `MAAS_API_URL`.",
		},
		"api_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "API key of a MAAS administrator: three parts with colons between them, as " +
				"`sudo maas apikey --username …` or the user's page of the MAAS UI shows it. May be ephemeral. " +
				"Environment: `MAAS_API_KEY`.",
		},
		"ca_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificates to trust, besides those of the system, for a MAAS over https: PEM text, or the path of a file with it. " +
				"Environment: `MAAS_API_CACERT`.",
		},
		"request_timeout": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How long one call of MAAS may take, as a duration such as `90s`. Between `1s` and `15m`; default `60s`. A compose " +
				"may always take the 120 s that MAAS gives itself.",
			Validators: []validator.String{durationValidator(minRequestTimeout, maxRequestTimeout)},
		},
		"poll_interval": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How often the provider looks at machines that MAAS commissions, deploys or releases, as a duration. One look serves " +
				"all of them. Between `10ms` and `5m`; default `5s`.",
			Validators: []validator.String{durationValidator(minPollInterval, maxPollInterval)},
		},
	}
}

// ownershipAttributes name the owner of the objects, and the ledger of the runs.
func ownershipAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"owner": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Name of the owner of these VMs and VM hosts: letters, digits, `.`, `_` and `-`. It marks what this configuration " +
				"makes. An interrupted apply continues on the VM with the same owner and name. An object keeps the owner that made it. Default: a " +
				"random name, kept as `maaslxd-owner` beside the ledger, so configurations that share a ledger share it. Required where `ledger` " +
				"is `memory` or an address. Set it in CI, too: see [Run in CI](guides/ci-runners.md).",
			Validators: []validator.String{ownerNameValidator()},
		},
		"ledger": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "The ledger, which records the room that runs have reserved on VM hosts, so that they do not promise it twice. It " +
				"is a file on a local disk, or the address of a service such as `https://ledger.example.com:7443`. A cluster has several addresses " +
				"with commas between them. `memory` is for one run: it does not know what other runs reserve. Default: `maaslxd/ledger.db` in " +
				"`$XDG_STATE_HOME`, or in `~/.local/state` if that is not set. Environment: `MAASLXD_LEDGER`. Use one ledger for all " +
				"configurations of a MAAS: see [Share a ledger](guides/shared-ledger.md).",
		},
	}
}

// creationAttributes say how VMs and hosts are made.
func creationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"composer": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How VMs are made. `maas`: MAAS composes them on its VM hosts, which MAAS up to 3.8 has. `lxd`, for any MAAS: the " +
				"provider makes them over the API of LXD and enlists them in MAAS. It must reach the LXD servers. `auto`: `maas` where MAAS has VM " +
				"hosts, else `lxd`. Default `auto`. `maaslxd_vm_host` makes the hosts for both, and a change of `composer` does not change them: " +
				"see [Move off VM hosts](guides/moving-off-vm-hosts.md).",
			Validators: []validator.String{stringvalidator.OneOf(string(site.Auto), string(site.MAAS), string(site.LXD))},
		},
		"on_unfinished": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How an apply reports a VM, VM host or machine that is not finished when `timeouts.create` is over. `warn`: a " +
				"warning. The apply succeeds, and the next one continues. `error`: the apply fails, and Terraform does not make the objects that " +
				"depend on this one. The object is then tainted, and the next apply replaces it unless you run `terraform untaint` before. Default `warn`.",
			Validators: []validator.String{stringvalidator.OneOf(client.UnfinishedWarns, client.UnfinishedFails)},
		},
		"probe": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How the provider finds out that a new LXD host is ready. `direct`: it asks the LXD server until that answers. " +
				"`maas`: it reads MAAS's inventory, for sites where only MAAS reaches the hosts. `auto`: it asks the LXD server. After some " +
				"seconds without an answer, or five minutes of refused connections, it reads MAAS's inventory. Default `auto`. If the provider " +
				"cannot ask an LXD server that runs already, it registers the server only with `adopt_existing_vms`.",
			Validators: []validator.String{stringvalidator.OneOf(client.ProbeAuto, client.ProbeDirect, client.ProbeMAAS)},
		},
	}
}

// ledgerServiceAttributes describe how to reach a ledger on another machine.
func ledgerServiceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"ledger_ca": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Where `ledger` is an address: certificates of the authorities that sign the service's certificate, as PEM text or " +
				"the path of a file. The service writes its own to `ca.pem`. Default: the authorities that the system trusts. Environment: `MAASLXD_LEDGER_CA`.",
		},
		"ledger_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Where `ledger` is an address: the client certificate by which the service knows this provider, as PEM text or the " +
				"path of a file. `capi-bridge ledger client add` makes it for one owner: set `owner`. May be ephemeral. Environment: `MAASLXD_LEDGER_CERT`.",
		},
		"ledger_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Private key of `ledger_cert`, as PEM text or the path of a file. The provider sends it nowhere and does not write it " +
				"to the state. May be ephemeral. Environment: `MAASLXD_LEDGER_KEY`.",
		},
	}
}

// keyAttributes are the client key pair of the fleet.
func keyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"lxd_client_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificate of the fleet's key pair, as PEM text or the path of a file. The LXD servers trust it from their " +
				"first boot: by it they know MAAS and this provider. Default: `lxd-client.pem` beside the ledger, a pair that the provider makes " +
				"once. Keep a copy of it. **To change the pair**, let all hosts trust the next one first: see " +
				"[Keys and certificates](guides/keys-and-certificates.md#changing-the-pair). May be ephemeral. Environment: " +
				"`MAASLXD_LXD_CLIENT_CERT`.",
		},
		"lxd_client_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Private key of `lxd_client_cert`, not encrypted: PEM text, or the path of a file with it. It goes to MAAS when a " +
				"host is registered, and with each VM where `composer` is `lxd`. It goes nowhere else. May be ephemeral. Environment: `MAASLXD_LXD_CLIENT_KEY`.",
		},
		"allow_insecure_key": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Send the private key to a MAAS whose `api_url` is plain http, where anybody on the way can read it. Without this, VM " +
				"hosts and VMs are refused there, unless MAAS runs on this very machine. Default `false`.",
		},
	}
}
