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
		MarkdownDescription: "Makes LXD hosts of the machines of a [MAAS](https://canonical.com/maas), and LXD virtual machines on them. Deploys bare metal without LXD, too.\n\n" +
			"MAAS is first called when a resource needs it, so that plans of other things, and plans whose MAAS is not " +
			"there yet, work without one. Making VMs needs the API key of a MAAS administrator. MAAS up to 3.8 composes them on its VM hosts; " +
			"for later ones they are made in LXD and enlisted, see `composer`.",
		Attributes: attributes,
	}
}

// maasAttributes say which MAAS, and how it is called.
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
				"`maas apikey --username …` or the user's page of the MAAS UI shows it. May be ephemeral. " +
				"Environment: `MAAS_API_KEY`.",
		},
		"ca_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificates to trust, besides those of the system, when MAAS is called over https: PEM text, or the path of a file " +
				"with it. Environment: `MAAS_API_CACERT`.",
		},
		"request_timeout": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How long one call of MAAS may take, as a duration such as `90s`. Between `1s` and `15m`; " +
				"default `60s`. Composing a VM is allowed the 120 s that MAAS gives itself, if they are more.",
			Validators: []validator.String{durationValidator(minRequestTimeout, maxRequestTimeout)},
		},
		"poll_interval": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Time between two looks at the machines that are being commissioned, deployed or released, as a " +
				"duration. One look serves all of them. Between `10ms` and `5m`; default `5s`.",
			Validators: []validator.String{durationValidator(minPollInterval, maxPollInterval)},
		},
	}
}

// ownershipAttributes say whose objects these are, and where runs note what is under way.
func ownershipAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"owner": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Whose VMs and VM hosts these are: a name for this configuration, used to mark what it makes. An apply that " +
				"was cut off is continued on the VM with the mark of the same owner and name, once no run is at it any more. Each object " +
				"keeps the owner that it was made with, and the state knows it. Letters, digits, `.`, `_`, `-`. Default: a random one, " +
				"made once and kept beside the ledger as `maaslxd-owner`, so that all configurations which use the ledger share it. " +
				"Required where `ledger` is `memory` or an address. CI runners that start with an empty home directory should set it.",
			Validators: []validator.String{ownerNameValidator()},
		},
		"ledger": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "File in which runs note what room they have reserved on which VM host, so that runs at the same moment " +
				"do not promise the same room twice, and a run that was killed is gone on with. It is made when a VM is first made. " +
				"All configurations for one MAAS should use one file; a file may serve several MAAS. It belongs on a local disk, not on a network file system. Default: `maaslxd/ledger.db` in " +
				"`$XDG_STATE_HOME`, or else in `~/.local/state`. A lost ledger costs nothing while no run is under way: VMs are found " +
				"by their marks in MAAS. `memory` keeps no file, for one run only: then nothing is known of what other runs reserve. " +
				"Runs on several machines share the ledger of a service, `capi-bridge ledger serve`: give its address, such as " +
				"`https://ledger.example.com:7443`. It may be several addresses of one cluster, parted by commas: " +
				"`https://a.example.com:7443,https://b.example.com:7443`. The next one is asked where one does not serve. Environment: `MAASLXD_LEDGER`.",
		},
	}
}

// creationAttributes say how VMs and hosts are made.
func creationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"composer": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Who makes the VMs. `maas`: MAAS composes them on its VM hosts, which it has up to 3.8. `lxd`, for any MAAS: they are made over " +
				"the API of the hosts' LXD, which must be reached from here, and enlisted in MAAS; cores, memory and larger disks then change in place. " +
				"`auto` asks MAAS once, and takes `maas` where it has VM hosts, else `lxd`. Hosts of either kind are made by `maaslxd_vm_host`, and stay " +
				"the same under the other. Default `auto`.",
			Validators: []validator.String{stringvalidator.OneOf(string(site.Auto), string(site.MAAS), string(site.LXD))},
		},
		"on_unfinished": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "What an apply says of a VM, VM host or machine that is not finished when `timeouts.create` is over. `warn`: a warning, and the apply " +
				"ends well; the next one goes on with the object. `error`: an error, so that the apply fails, and what depends on the object is not made. " +
				"Terraform then takes the object for tainted, and the next apply replaces it unless `terraform untaint` is run before. Default `warn`.",
			Validators: []validator.String{stringvalidator.OneOf(client.UnfinishedWarns, client.UnfinishedFails)},
		},
		"probe": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How a new LXD host is seen to be ready. `direct`: this machine asks its LXD, and waits until it answers. `maas`: MAAS's " +
				"inventory of it suffices, for sites where only MAAS reaches the hosts. `auto`: LXD is asked; where connections get no answer at all, MAAS's " +
				"word is taken after some seconds, and where they are refused, after five minutes. What cannot be asked cannot be seen to be empty, either: an LXD that runs already is then " +
				"only registered with `adopt_existing_vms`. Default `auto`.",
			Validators: []validator.String{stringvalidator.OneOf(client.ProbeAuto, client.ProbeDirect, client.ProbeMAAS)},
		},
	}
}

// ledgerServiceAttributes say how a ledger on another machine is reached.
func ledgerServiceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"ledger_ca": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Where `ledger` is an address: certificates of the authorities that sign the service's certificate, as PEM text or the path " +
				"of a file. The service writes its own to `ca.pem`. Default: those that the system trusts. Environment: `MAASLXD_LEDGER_CA`.",
		},
		"ledger_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Where `ledger` is an address: the client certificate by which the service knows this provider, as PEM text or the path of a " +
				"file. `capi-bridge ledger client add` makes it. It is for one owner: set `owner`. May be ephemeral. Environment: `MAASLXD_LEDGER_CERT`.",
		},
		"ledger_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Private key of `ledger_cert`, as PEM text or the path of a file. It is sent nowhere, and is not written to the state. May be " +
				"ephemeral. Environment: `MAASLXD_LEDGER_KEY`.",
		},
	}
}

// keyAttributes are the client key pair of the fleet.
func keyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"lxd_client_cert": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificate of the key pair by which the LXD hosts of this fleet know MAAS and this provider: PEM text, or the path of a " +
				"file with it. Hosts are made to trust it at their first boot. Without a pair, one is made once beside the ledger, as " +
				"`lxd-client.pem`, readable by this user alone: keep a copy of it. **To change the pair**, make the next one known first: new hosts " +
				"trust the one in `lxd-client-next.pem` beside the ledger, or, where this is set, those that `lxd.trusted_certificates` of the VM host " +
				"lists; hosts that run already are told by hand, see there. Then put the next pair in the place of this one, and apply. " +
				"May be ephemeral. Environment: `MAASLXD_LXD_CLIENT_CERT`.",
		},
		"lxd_client_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Private key of `lxd_client_cert`, not encrypted: PEM text, or the path of a file with it. It goes to MAAS with the " +
				"registration of a host, or with each VM where `composer` is `lxd`, and nowhere else. May be ephemeral. Environment: `MAASLXD_LXD_CLIENT_KEY`.",
		},
		"allow_insecure_key": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Send the private key to a MAAS whose `api_url` is plain http, where anybody on the way can read it. Without this, VM hosts " +
				"and VMs are not made there, unless MAAS runs on this very machine. Default `false`.",
		},
	}
}
