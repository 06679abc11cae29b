package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// lxdSettings are the attributes with which terraform-lxd/lxd 3.0 connects to
// an LXD (docs/guides/migration_3.0.md).
type lxdSettings struct {
	Address     types.String `tfsdk:"address"`
	Certificate types.String `tfsdk:"client_certificate"`
	Key         types.String `tfsdk:"client_key"`
	Fingerprint types.String `tfsdk:"server_certificate_fingerprint"`
}

// lxdSchema is the schema of the provider block.
func lxdSchema() schema.Schema {
	text := schema.StringAttribute{Optional: true}
	return schema.Schema{Attributes: map[string]schema.Attribute{
		"address": text, "client_certificate": text, "client_key": schema.StringAttribute{Optional: true, Sensitive: true}, "server_certificate_fingerprint": text,
	}}
}

// checkLXD connects to the LXD of a configuration. The LXD must show the
// configured certificate, and trust ours.
func checkLXD(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var s lxdSettings
	resp.Diagnostics.Append(req.Config.Get(ctx, &s)...)
	if resp.Diagnostics.HasError() || s.Address.IsNull() || s.Address.IsUnknown() {
		return
	}
	if err := s.checkTrust(ctx); err != nil {
		resp.Diagnostics.AddError("Cannot use the LXD", err.Error())
	}
}

func (s lxdSettings) checkTrust(ctx context.Context) error {
	pair, err := tls.X509KeyPair([]byte(s.Certificate.ValueString()), []byte(s.Key.ValueString()))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true, VerifyPeerCertificate: s.checkServer, //nolint:gosec // the certificate is pinned
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Address.ValueString()+"/1.0", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // the body was read
	var answer struct{ Metadata struct{ Auth string } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Metadata.Auth != "trusted" {
		return fmt.Errorf("the LXD at %s says that we are %s", s.Address.ValueString(), answer.Metadata.Auth)
	}
	return nil
}

// checkServer returns an error unless the server's certificate is the
// configured one.
func (s lxdSettings) checkServer(certificates [][]byte, _ [][]*x509.Certificate) error {
	if len(certificates) == 0 {
		return errors.New("the LXD shows no certificate")
	}
	if sum := sha256.Sum256(certificates[0]); hex.EncodeToString(sum[:]) != s.Fingerprint.ValueString() {
		return fmt.Errorf("the LXD shows the certificate %x, and not %s", sum, s.Fingerprint.ValueString())
	}
	return nil
}
