package manager

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/flags"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

const aboutManager = `Runs the controllers and webhooks of MaasCluster and MaasMachine: the
infrastructure provider "maas" of Cluster API.`

// commandLine holds the values of the flags: options of the manager itself, and
// of its process.
type commandLine struct {
	Options
	kubeQPS     float32
	kubeBurst   int
	clusterRole string // accepted, without effect
	ignored     []ignoredFlag
	diagnostics flags.ManagerOptions
	logs        *logsv1.LoggingConfiguration
}

// parseFlags reads the flags. An invalid value is a *setting.UsageError that
// names the flag. -h prints the flags and returns flag.ErrHelp.
func parseFlags(p setting.Program) (*commandLine, error) {
	c := &commandLine{logs: logs.NewOptions()}
	c.Version, c.ManagerNamespace = p.Version, p.Getenv("POD_NAMESPACE")
	set := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	c.addFlags(set)
	err := set.Parse(p.Args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(p.Stdout, "%s\n\nFlags:\n%s", aboutManager, set.FlagUsages())
		return nil, flag.ErrHelp
	case err != nil:
		return nil, usageError(p, set, err)
	case set.NArg() > 0:
		return nil, &setting.UsageError{Text: fmt.Sprintf("%q is not a flag, and %s takes only flags", set.Arg(0), p.Name), Hint: p.Name + " -h lists the flags"}
	}
	c.ignored = slices.DeleteFunc(slices.Clone(ignoredFlags), func(f ignoredFlag) bool { return !set.Changed(f.name) })
	return c, c.checkFlags()
}

// ignoredFlag is a flag of CAPMaaS that has no effect here. CAPMaaS's manifests
// set it, and a manager that refused it would not start.
type ignoredFlag struct{ name, instead string }

var ignoredFlags = []ignoredFlag{
	{"metrics-bind-addr", "use --diagnostics-address and --insecure-diagnostics"},
	{"metrics-bind-address", "use --diagnostics-address and --insecure-diagnostics"},
	{"feature-gates", "there are no feature gates"},
	{"cluster-role", "every manager serves all clusters"},
}

// usageError says which flag was invalid, and what it takes.
func usageError(p setting.Program, set *pflag.FlagSet, err error) error {
	var (
		invalid *pflag.InvalidValueError
		absent  *pflag.NotExistError
		bare    *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return &setting.UsageError{Flag: "--" + f.Name, Text: fmt.Sprintf("%q is not %s", invalid.GetValue(), flagTypeName(f)), Hint: f.Usage}
	case errors.As(err, &absent):
		return &setting.UsageError{Flag: "--" + absent.GetSpecifiedName(), Text: "there is no such flag", Hint: p.Name + " -h lists the flags"}
	case errors.As(err, &bare):
		name, usage := bare.GetSpecifiedName(), ""
		if f := set.Lookup(name); f != nil {
			usage = f.Usage
		}
		return &setting.UsageError{Flag: "--" + name, Text: "its value is missing", Hint: usage}
	}
	return &setting.UsageError{Text: err.Error(), Hint: p.Name + " -h lists the flags"}
}

// flagTypeName names the type of a flag's value for users.
func flagTypeName(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "duration":
		return "a time such as 30s or 10m"
	case "int", "int32", "int64":
		return "a whole number"
	case "float32", "float64":
		return "a number"
	case "bool":
		return "true or false"
	default:
		return "a " + strings.TrimPrefix(kind, "*")
	}
}

func (c *commandLine) addFlags(set *pflag.FlagSet) {
	c.addCAPIFlags(set)
	c.addServerFlags(set)
	c.addMAASFlags(set)
	c.addLedgerFlags(set)
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil { // controller-runtime's
		set.AddGoFlag(kubeconfig)
	}
	flags.AddManagerOptions(set, &c.diagnostics)
	logsv1.AddFlags(c.logs, set)
}

// addCAPIFlags adds the flags that all managers of Cluster API have.
func (c *commandLine) addCAPIFlags(set *pflag.FlagSet) {
	set.StringVar(&c.Namespace, "namespace", "", "namespace whose objects are reconciled; empty: all namespaces")
	set.StringVar(&c.WatchFilter, "watch-filter", "", "reconcile only objects whose label "+clusterv1.WatchLabel+" has this value; empty: all")
	set.IntVar(&c.MachineConcurrency, "machine-concurrency", 50, "number of MaasMachines that are reconciled at once")
	set.IntVar(&c.ClusterConcurrency, "cluster-concurrency", 10, "number of MaasClusters that are reconciled at once")
	set.IntVar(&c.ClusterCacheConcurrency, "clustercache-concurrency", 100, "number of workload clusters that the manager connects to at once")
	set.Float32Var(&c.ClusterCacheQPS, "clustercache-client-qps", 20, "most calls a second to the API server of a workload cluster")
	set.IntVar(&c.ClusterCacheBurst, "clustercache-client-burst", 30, "most calls at once to the API server of a workload cluster")
	set.DurationVar(&c.SyncPeriod, "sync-period", 10*time.Minute, "time after which all objects are reconciled again")
	set.Float32Var(&c.kubeQPS, "kube-api-qps", 100, "most calls a second to the API server")
	set.IntVar(&c.kubeBurst, "kube-api-burst", 200, "most calls at once to the API server")
	set.BoolVar(&c.LeaderElect, "leader-elect", false, "let only one of several managers work at a time")
	set.DurationVar(&c.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "time after which another manager may replace a silent leader")
	set.DurationVar(&c.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "time for which the leader tries to renew its lease before it gives up")
	set.DurationVar(&c.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between two attempts to become or stay the leader")
	set.StringVar(&c.clusterRole, "cluster-role", "", "accepted and without effect: every manager serves all clusters")
	for _, f := range ignoredFlags {
		if set.Lookup(f.name) == nil {
			set.String(f.name, "", "accepted and without effect: "+f.instead)
		}
	}
}

// addServerFlags adds the flags of the manager's own servers.
func (c *commandLine) addServerFlags(set *pflag.FlagSet) {
	set.IntVar(&c.WebhookPort, "webhook-port", 9443, "port of the webhook server; 0: no webhooks")
	set.StringVar(&c.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "folder with the webhook server's certificate")
	set.StringVar(&c.WebhookCertName, "webhook-cert-name", "tls.crt", "name of the certificate's file in that folder")
	set.StringVar(&c.WebhookKeyName, "webhook-key-name", "tls.key", "name of its key's file in that folder")
	set.StringVar(&c.HealthAddr, "health-addr", ":9440", "address of /healthz and /readyz")
	set.StringVar(&c.ProfilerAddr, "profiler-address", "", "address of pprof without authentication, such as localhost:6060; empty: none")
}

// addMAASFlags adds the flags about MAAS and LXD.
func (c *commandLine) addMAASFlags(set *pflag.FlagSet) {
	set.StringVar(&c.Composer, "composer", "auto", "who makes VMs: auto, maas (MAAS up to 3.8), lxd (LXD itself, with any MAAS)")
	set.BoolVar(&c.ProbeLXD, "probe-lxd", false, "ask new LXD hosts themselves whether they are ready; otherwise the manager trusts MAAS's inventory")
	set.StringVar(&c.LXDKeySecret, "lxd-key-secret", "maaslxd-lxd-client", "Secret in the manager's namespace with the fleet's LXD key pair (tls.crt, tls.key); the manager makes a missing one from the pair beside the ledger")
	set.BoolVar(&c.AllowInsecureKey, "allow-insecure-key", false, "allow sending the private LXD key to a MAAS over plain http")
	set.BoolVar(&c.AllowTakeOver, "allow-take-over", false, "let clusters that use the manager's own credentials take over machines which were not made for them")
	set.StringSliceVar(&c.DefaultNamespaces, "default-credentials-namespaces", nil, "namespaces whose clusters may use the manager's own credentials without an identityRef; empty: all")
	set.DurationVar(&c.MAASTimeout, "maas-timeout", time.Minute, "longest time of a request to MAAS; requests that wait for an LXD have at least 150s")
	set.DurationVar(&c.MAASPollInterval, "maas-poll-interval", 5*time.Second, "time between two reads of machines that are changing")
	set.IntVar(&c.MAASConnections, "maas-connections", 14, "most connections to one MAAS")
	set.DurationVar(&c.CredentialsPeriod, "credentials-period", time.Minute, "time after which credentials are read again")
}

// checkFlags refuses values that parse but make no sense.
func (c *commandLine) checkFlags() error {
	positive := map[string]int64{
		"machine-concurrency": int64(c.MachineConcurrency), "cluster-concurrency": int64(c.ClusterConcurrency),
		"clustercache-concurrency": int64(c.ClusterCacheConcurrency), "maas-connections": int64(c.MAASConnections),
		"clustercache-client-burst": int64(c.ClusterCacheBurst), "kube-api-burst": int64(c.kubeBurst),
		"sync-period": int64(c.SyncPeriod), "maas-timeout": int64(c.MAASTimeout), "maas-poll-interval": int64(c.MAASPollInterval),
		"leader-elect-retry-period": int64(c.RetryPeriod), "credentials-period": int64(c.CredentialsPeriod),
	}
	var wrong []error
	for _, name := range sortedKeys(positive) {
		if positive[name] <= 0 {
			wrong = append(wrong, &setting.UsageError{Flag: "--" + name, Text: "it must be more than 0"})
		}
	}
	return errors.Join(append(wrong, c.checkChoices(), c.checkLedger(), c.checkLeases(), c.checkRates())...)
}

func (c *commandLine) checkChoices() error {
	switch {
	case !isOneOf(c.Composer, "auto", "maas", "lxd"):
		return &setting.UsageError{Flag: "--composer", Text: fmt.Sprintf("there is no composer %q", c.Composer), Hint: "Give auto, maas or lxd."}
	case !isOneOf(c.logs.Format, logsv1.DefaultLogFormat, logsv1.JSONLogFormat):
		return &setting.UsageError{Flag: "--logging-format", Text: fmt.Sprintf("there is no format %q", c.logs.Format), Hint: "Give text or json."}
	case c.WebhookPort < 0 || c.WebhookPort > 65535:
		return &setting.UsageError{Flag: "--webhook-port", Text: fmt.Sprintf("%d is not a port", c.WebhookPort), Hint: "Give one up to 65535, or 0 for no webhooks."}
	case c.clusterRole != "" && !isOneOf(c.clusterRole, "hcp", "wlc"):
		return &setting.UsageError{Flag: "--cluster-role", Text: fmt.Sprintf("there is no role %q", c.clusterRole), Hint: "Leave it out: every manager serves all clusters."}
	}
	return nil
}

func (c *commandLine) checkLeases() error {
	switch {
	case c.LeaseDuration <= c.RenewDeadline:
		return &setting.UsageError{Flag: "--leader-elect-lease-duration", Text: "it must be longer than --leader-elect-renew-deadline"}
	case float64(c.RenewDeadline) <= 1.2*float64(c.RetryPeriod): // client-go's JitterFactor
		return &setting.UsageError{Flag: "--leader-elect-renew-deadline", Text: "it must be more than 1.2 times --leader-elect-retry-period"}
	}
	return nil
}

func (c *commandLine) checkRates() error {
	for _, each := range []struct {
		name string
		rate float32
	}{{"kube-api-qps", c.kubeQPS}, {"clustercache-client-qps", c.ClusterCacheQPS}} {
		if each.rate <= 0 {
			return &setting.UsageError{Flag: "--" + each.name, Text: "it must be more than 0"}
		}
	}
	return nil
}
