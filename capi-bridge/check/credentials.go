package check

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/maas"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// clientPair is the fleet's client key pair.
type clientPair struct{ certificate, key string }

func (c *clientPair) addSettings(s *setting.Settings) {
	s.AddPEM(&c.certificate, "lxd-client-cert", "MAASLXD_LXD_CLIENT_CERT", "certificate by which LXD knows the fleet, as PEM text or the path of a file; one file may hold both certificate and key, if both flags name it")
	s.AddPEM(&c.key, "lxd-client-key", "MAASLXD_LXD_CLIENT_KEY", "private key of the certificate, in the same form")
}

// parseCredentials returns the pair, or a *setting.UsageError. One file may
// hold both halves.
func (c *clientPair) parseCredentials() (engine.Credentials, error) {
	if c.certificate == "" || c.key == "" {
		return engine.Credentials{}, &setting.UsageError{Flag: "--lxd-client-cert", Text: "the key pair of the fleet is missing",
			Hint: "Give both --lxd-client-cert (MAASLXD_LXD_CLIENT_CERT) and --lxd-client-key (MAASLXD_LXD_CLIENT_KEY)."}
	}
	key, err := fleetkey.Parse(c.certificate, c.key, time.Now())
	if err != nil {
		p := setting.ExplainError(err)[0]
		return engine.Credentials{}, &setting.UsageError{Flag: "--lxd-client-cert, --lxd-client-key", Text: replaceSettingNames(p.Message), Hint: replaceSettingNames(p.Hint)}
	}
	return key.Credentials, nil
}

// maasAccess is the address of a MAAS and the key for it.
type maasAccess struct {
	endpoint, key, caCert string
	timeout               time.Duration
}

func (r *maasAccess) addSettings(s *setting.Settings, p setting.Program) {
	s.AddText(&r.endpoint, "maas-endpoint", "MAAS_ENDPOINT", p.Getenv("MAAS_API_URL"), "MAAS's address, such as http://maas:5240/MAAS (or MAAS_API_URL)")
	s.AddText(&r.key, "maas-api-key", "MAAS_API_KEY", "", "API key of an administrator; prefer the variable, because others can see the flags of a process")
	s.AddPEM(&r.caCert, "maas-ca-cert", "MAAS_API_CACERT", "certificate authority of MAAS's https, as PEM text or the path of a file")
	s.AddTimeout(&r.timeout, 5*time.Minute)
}

// newClient returns a client of the MAAS. It makes no call yet.
func (r *maasAccess) newClient(p setting.Program) (*maas.Client, error) {
	var missing []error
	for _, each := range []struct{ flag, env, value string }{{"--maas-endpoint", "MAAS_ENDPOINT or MAAS_API_URL", r.endpoint}, {"--maas-api-key", "MAAS_API_KEY", r.key}} {
		if each.value == "" {
			missing = append(missing, &setting.UsageError{Flag: each.flag, Text: "it is missing", Hint: fmt.Sprintf("Give it, or set %s.", each.env)})
		}
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	client, err := maas.New(maas.Config{URL: r.endpoint, APIKey: r.key, CACert: []byte(r.caCert), UserAgent: "capi-bridge/" + p.Version})
	return client, asUsageError(err)
}

// asUsageError names the flags of an invalid configuration.
func asUsageError(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range several.Unwrap() {
			all = append(all, asUsageError(e))
		}
		return errors.Join(all...)
	}
	if config, ok := errors.AsType[*api.ConfigError](err); ok {
		return &setting.UsageError{Flag: replaceSettingNames(config.Field), Text: config.Message, Hint: replaceSettingNames(config.Hint)}
	}
	return err
}

// flagBySetting maps the engine's names of settings to flags.
var flagBySetting = map[string]string{
	"api_url": "--maas-endpoint", "api_key": "--maas-api-key", "ca_cert": "--maas-ca-cert",
	"lxd_client_cert": "--lxd-client-cert", "lxd_client_key": "--lxd-client-key",
}

// wordOrPath matches a possible name of a setting, without punctuation at its
// end.
var wordOrPath = regexp.MustCompile(`[\w/~-]+(\.[\w/~-]+)*`)

// replaceSettingNames replaces the engine's names of settings in a message by
// the flags of this command. A part of a word or a path is no setting.
func replaceSettingNames(said string) string {
	return wordOrPath.ReplaceAllStringFunc(said, func(word string) string { return cmp.Or(flagBySetting[word], word) })
}

// isUnencrypted reports whether others can read what is sent to MAAS.
func (r *maasAccess) isUnencrypted() bool {
	u, err := url.Parse(strings.TrimSpace(r.endpoint))
	if err != nil || !strings.EqualFold(u.Scheme, "http") || u.Hostname() == "localhost" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return err != nil || !address.IsLoopback()
}
