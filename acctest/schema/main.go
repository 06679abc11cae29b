// Schema prints the provider's schema as tfplugindocs reads it with
// --providers-schema: the document that "terraform providers schema -json"
// prints.
//
// It asks the provider over its protocol, without a CLI. An older Terraform
// leaves out what it does not know, such as resource identity before 1.12. The
// documentation must not depend on the installed CLI.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// shortName is the key under which tfplugindocs looks for the provider.
const shortName = "maaslxd"

func main() {
	server := providerserver.NewProtocol6(provider.New("docs")())()
	if err := run(context.Background(), os.Stdout, server); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// run asks the server for its schemas and prints them.
func run(ctx context.Context, out io.Writer, server tfprotov6.ProviderServer) error {
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return fmt.Errorf("cannot get the schema: %w", err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return fmt.Errorf("cannot get the identities: %w", err)
	}
	for _, d := range append(schemas.Diagnostics, identities.Diagnostics...) {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return fmt.Errorf("the provider's schema is invalid: %s: %s", d.Summary, d.Detail)
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document{
		FormatVersion: "1.0",
		Providers:     map[string]providerJSON{shortName: describeProvider(schemas, identities)},
	})
}

// describeProvider collects all schemas of the provider.
func describeProvider(s *tfprotov6.GetProviderSchemaResponse, i *tfprotov6.GetResourceIdentitySchemasResponse) providerJSON {
	p := providerJSON{
		Provider:    schemaOf(s.Provider),
		Resources:   schemasOf(s.ResourceSchemas),
		DataSources: schemasOf(s.DataSourceSchemas),
		Ephemerals:  schemasOf(s.EphemeralResourceSchemas),
		Lists:       schemasOf(s.ListResourceSchemas),
		Actions:     map[string]actionJSON{},
		Functions:   map[string]functionJSON{},
		Identities:  map[string]identityJSON{},
	}
	for name, a := range s.ActionSchemas {
		p.Actions[name] = actionJSON{Block: blockOf(a.Schema.Block)}
	}
	for name, f := range s.Functions {
		p.Functions[name] = functionOf(f)
	}
	for name, identity := range i.IdentitySchemas {
		p.Identities[name] = identityOf(identity)
	}
	return p
}
