package manager

import (
	"crypto/tls"
	"maps"
	"slices"
	"time"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options are the settings of a manager. The help of the flags describes them;
// New uses them as they are.
type Options struct {
	Version          string // of the program
	ManagerNamespace string // where the manager's own Secrets and ConfigMaps are

	Namespace   string
	WatchFilter string

	MachineConcurrency      int
	ClusterConcurrency      int
	ClusterCacheConcurrency int
	ClusterCacheQPS         float32
	ClusterCacheBurst       int
	SyncPeriod              time.Duration

	LeaderElect   bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration

	WebhookPort     int // 0: no webhooks
	WebhookCertDir  string
	WebhookCertName string
	WebhookKeyName  string
	HealthAddr      string
	ProfilerAddr    string
	TLS             []func(*tls.Config) // of the webhook server
	Metrics         metricsserver.Options

	Ledger            string // a file, the address of a service, or MemoryLedger
	LedgerFiles       LedgerFiles
	Composer          string // "auto", "maas", "lxd"
	ProbeLXD          bool
	LXDKeySecret      string
	AllowInsecureKey  bool
	AllowTakeOver     bool // by clusters with the manager's own credentials
	DefaultNamespaces []string
	MAASTimeout       time.Duration
	MAASPollInterval  time.Duration
	MAASConnections   int
	CredentialsPeriod time.Duration
	// Getenv reads the environment, which may hold credentials. nil: there is
	// no environment.
	Getenv func(string) string
	// Now is the clock of the ledger in memory; nil means time.Now.
	Now func() time.Time
	// NamesRepeat: other managers of the process have controllers and metrics
	// with the same names.
	NamesRepeat bool
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func isOneOf(value string, choices ...string) bool { return slices.Contains(choices, value) }
