package manager

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

func newProgram(args ...string) (setting.Program, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return setting.Program{
		Name: "capi-bridge manager", Args: args, Stdout: out, Version: "1.2.3",
		Getenv: func(name string) string { return map[string]string{"POD_NAMESPACE": "capmaas-system"}[name] },
	}, out
}

// TestFlags: a value that cannot be meant is one clear error with the flag's name.
func TestFlags(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		flag   string // of the error; empty: none
		says   string
	}{
		"None":         {reason: "All have a default.", args: nil},
		"Shipped":      {reason: "What other managers of Cluster API are started with.", args: []string{"--leader-elect", "--diagnostics-address=:8443", "--insecure-diagnostics=false", "--namespace=team-a", "--watch-filter=green", "-v=4", "--kube-api-qps=20", "--kube-api-burst=30", "--sync-period=1h", "--webhook-port=9443", "--health-addr=:9440"}},
		"Role":         {reason: "An earlier provider's flag has no effect.", args: []string{"--cluster-role=hcp"}},
		"NoRole":       {reason: "But it had values.", args: []string{"--cluster-role=xyz"}, flag: "--cluster-role", says: `no role "xyz"`},
		"Incumbent":    {reason: "What CAPMaaS's manifests start their manager with.", args: []string{"--leader-elect", "--metrics-bind-addr=127.0.0.1:8080", "--feature-gates=MachinePool=true,ClusterTopology=true", "--machine-concurrency=2", "--sync-period=120m", "--health-addr=:9440"}},
		"Unknown":      {reason: "A slip of the pen.", args: []string{"--namspace=x"}, flag: "--namspace", says: "no such flag"},
		"NoNumber":     {reason: "Numbers are numbers.", args: []string{"--machine-concurrency=many"}, flag: "--machine-concurrency", says: `"many" is not a whole number`},
		"NoDuration":   {reason: "Times have units.", args: []string{"--sync-period=10"}, flag: "--sync-period", says: "30s or 10m"},
		"NoValue":      {reason: "A value is missing.", args: []string{"--namespace"}, flag: "--namespace", says: "value is missing"},
		"Zero":         {reason: "Nobody would work.", args: []string{"--machine-concurrency=0"}, flag: "--machine-concurrency", says: "more than 0"},
		"Negative":     {reason: "Time goes forward.", args: []string{"--maas-timeout=-1s"}, flag: "--maas-timeout", says: "more than 0"},
		"NoRate":       {reason: "Calls need a rate.", args: []string{"--kube-api-qps=0"}, flag: "--kube-api-qps", says: "more than 0"},
		"NoComposer":   {reason: "There are two, and auto.", args: []string{"--composer=vcenter"}, flag: "--composer", says: `no composer "vcenter"`},
		"NoPort":       {reason: "Ports end.", args: []string{"--webhook-port=70000"}, flag: "--webhook-port", says: "70000 is not a port"},
		"NoWebhooks":   {reason: "Port 0 means no webhooks.", args: []string{"--webhook-port=0"}},
		"NoLedger":     {reason: "A ledger must be somewhere.", args: []string{"--ledger="}, flag: "--ledger", says: "no ledger"},
		"LedgerFiles":  {reason: "A file needs no certificate.", args: []string{"--ledger-cert=x"}, flag: "--ledger-cert", says: "names none"},
		"LedgerKey":    {reason: "A service does.", args: []string{"--ledger=https://l:7443", "--ledger-cert=x"}, flag: "--ledger-key", says: "is missing"},
		"NoFormat":     {reason: "Logs have two formats.", args: []string{"--logging-format=xml"}, flag: "--logging-format", says: `"xml"`},
		"NoTLS":        {reason: "TLS has versions.", args: []string{"--tls-min-version=TLS9"}, flag: "--tls-min-version", says: "TLS9"},
		"NoCipher":     {reason: "Ciphers have names.", args: []string{"--tls-cipher-suites=ROT13"}, flag: "--tls-cipher-suites", says: "ROT13"},
		"ShortLease":   {reason: "A leader must be able to renew in time.", args: []string{"--leader-elect-lease-duration=5s"}, flag: "--leader-elect-lease-duration", says: "--leader-elect-renew-deadline"},
		"LongRetry":    {reason: "And to try more than once.", args: []string{"--leader-elect-retry-period=9s"}, flag: "--leader-elect-renew-deadline", says: "--leader-elect-retry-period"},
		"MoreThanOnce": {reason: "All that is wrong is said.", args: []string{"--sync-period=0s", "--maas-connections=0"}, flag: "--maas-connections", says: "more than 0"},
		"Argument":     {reason: "There are no arguments.", args: []string{"start"}, says: `"start" is not a flag`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := newProgram(tc.args...)
			c, err := parseFlags(p)
			if err == nil {
				err = c.completeOptions(p)
			}
			if tc.says == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			usage, ok := errors.AsType[*setting.UsageError](err)
			if !ok || !strings.Contains(usage.Flag, tc.flag) || !strings.Contains(usage.Text, tc.says) {
				t.Errorf("%s\nthe error is %#v; want %s: …%s…", tc.reason, err, tc.flag, tc.says)
			}
		})
	}
}

// TestFlagsAreMeant: what the flags say gets to where it counts.
func TestFlagsAreMeant(t *testing.T) {
	p, _ := newProgram("--namespace=team-a", "--leader-elect", "--sync-period=1h", "--ledger=/data/l.db", "--composer=lxd", "--machine-concurrency=7", "--webhook-port=0")
	c, err := parseFlags(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.completeOptions(p); err != nil {
		t.Fatal(err)
	}
	options, err := c.managerOptions()
	if err != nil {
		t.Fatal(err)
	}
	if _, only := options.Cache.DefaultNamespaces["team-a"]; !only || len(options.Cache.DefaultNamespaces) != 1 {
		t.Errorf("the cache has the namespaces %v", options.Cache.DefaultNamespaces)
	}
	if *options.Cache.SyncPeriod != time.Hour || !options.LeaderElection || options.LeaderElectionNamespace != "capmaas-system" ||
		options.LeaderElectionID != "controller-leader-election-capmaas" || options.WebhookServer != nil {
		t.Errorf("%+v", options)
	}
	if c.Ledger != "/data/l.db" || c.Composer != "lxd" || c.MachineConcurrency != 7 || !options.Metrics.SecureServing {
		t.Errorf("%+v", c.Options)
	}
}

// TestHelp: the flags are listed, and nothing else happens.
func TestHelp(t *testing.T) {
	p, out := newProgram("--help")
	if _, err := parseFlags(p); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("the error is %v", err)
	}
	for _, name := range []string{"--namespace", "--watch-filter", "--diagnostics-address", "--leader-elect", "--ledger", "--kubeconfig", "--kube-api-qps", "-v, --v"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

// TestIgnoredFlags: who sets a flag of the provider that came before is told that
// it does nothing, and what does.
func TestIgnoredFlags(t *testing.T) {
	p, _ := newProgram("--metrics-bind-addr=:8080", "--feature-gates=A=true", "--leader-elect")
	c, err := parseFlags(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []ignoredFlag{ignoredFlags[0], ignoredFlags[2]}
	if !slices.Equal(c.ignored, want) {
		t.Errorf("told of %v, want %v", c.ignored, want)
	}
}
