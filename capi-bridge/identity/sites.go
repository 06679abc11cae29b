package identity

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/region"
)

const (
	// retryAfter is how long a failure to find credentials is cached. A person
	// who repairs them waits no longer, and a hundred waiting machines do not
	// read a Secret each.
	retryAfter = 5 * time.Second
	// idleAfter is how long an unused site stays open. Machines are observed
	// every minute.
	idleAfter = 10 * time.Minute
)

// Config configures Sites.
type Config struct {
	Finder Finder
	// Ledger is shared by all sites. Each MAAS has a region of its own in it.
	Ledger ledger.Regions
	// Folder is where the fleet's key pair is made unless the Secret has one;
	// empty: nowhere.
	Folder string
	// KeyWriter creates the Secret of a new pair; nil: the pair is only in
	// Folder.
	KeyWriter client.Writer
	// LXDKeySecret names the Secret with the fleet's key pair for LXD, in the
	// manager's namespace.
	LXDKeySecret string
	// AllowInsecureKey allows sending the private key to a MAAS over plain
	// http.
	AllowInsecureKey bool
	// Composer is who makes VMs: "auto", "maas" or "lxd".
	Composer string
	// ProbeLXD: new hosts themselves are asked whether they are ready.
	// Otherwise MAAS's inventory of them suffices.
	ProbeLXD bool
	// CredentialsPeriod is the time after which credentials are read again.
	CredentialsPeriod time.Duration
	// Timeout, Interval and MaxConns are those of maas.Config.
	Timeout  time.Duration
	Interval time.Duration
	MaxConns int

	UserAgent string
	Log       *slog.Logger
	// OnRequest is called for each request to the MAAS at an address; may be
	// nil.
	OnRequest func(address string) func(api.Call)
	// OnHostsListed is called when the LXD hosts of the MAAS at an address were
	// listed; may be nil.
	OnHostsListed func(address string) func()
	// WrapLedger may count the calls of the ledger; may be nil.
	WrapLedger func(engine.Ledger) engine.Ledger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Sites keeps a site for each identity. It is safe for concurrent use.
type Sites struct {
	Config

	mu      sync.Mutex
	lookups map[credentialsUser]*lookup
	open    map[string]*openSite // by the digest of their credentials
	// regions holds what the sites of one MAAS share, by its name in the
	// ledger.
	regions map[string]*region.Region
}

var _ controller.Sites = (*Sites)(nil)

// credentialsUser stands for the clusters of a namespace with the same
// identity, or with none.
type credentialsUser struct {
	kind                infrav1.IdentityKind
	identity, namespace string
}

// lookup is the result of a search for credentials.
type lookup struct {
	mu   sync.Mutex // held while reading, so that one caller reads for all
	at   time.Time
	site *openSite // the last usable site; kept during passing failures
	err  error
}

// New returns Sites. It reads nothing before the first call of Site.
func New(c Config) *Sites {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Sites{Config: c, lookups: map[credentialsUser]*lookup{}, open: map[string]*openSite{}, regions: map[string]*region.Region{}}
}

// Site implements controller.Sites.
func (s *Sites) Site(ctx context.Context, cluster *infrav1.MaasCluster) (*controller.Site, error) {
	who := credentialsUser{namespace: cluster.Namespace}
	if cluster.Spec.IdentityRef != nil {
		who.kind, who.identity = cluster.Spec.IdentityRef.Kind, cluster.Spec.IdentityRef.Name
	}
	l := s.lookupOf(who)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.isStale(l) {
		s.readCredentials(ctx, l, cluster.Spec.IdentityRef, cluster.Namespace)
	}
	if l.err != nil {
		return nil, l.err
	}
	s.noteUseAndCloseIdle(l.site)
	return l.site.Site, nil
}

func (s *Sites) lookupOf(who credentialsUser) *lookup {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lookups[who]
	if l == nil {
		l = &lookup{}
		s.lookups[who] = l
	}
	return l
}

// isStale reports whether credentials must be read again. That is after a
// while, sooner after a failure, and at once where MAAS refused them.
func (s *Sites) isStale(l *lookup) bool {
	age := s.Now().Sub(l.at)
	return l.at.IsZero() || age >= s.CredentialsPeriod || age >= retryAfter && (l.err != nil || l.site.isKeyRefused())
}

// readCredentials finds the credentials again. A failure that does not concern
// credentials, such as an API server that does not answer, keeps the last
// usable site.
func (s *Sites) readCredentials(ctx context.Context, l *lookup, ref *infrav1.MaasIdentityReference, namespace string) {
	found, err := s.findSite(ctx, ref, namespace)
	missing, about := errors.AsType[*controller.CredentialsError](err)
	if about {
		missing.RecheckAfter = s.CredentialsPeriod
	}
	switch {
	case err == nil:
		l.site, l.err = found, nil
	case about || l.site == nil:
		l.site, l.err = nil, err
	default:
		s.Log.WarnContext(ctx, "cannot read credentials again", "error", err.Error())
	}
	if ctx.Err() == nil { // otherwise the error says nothing about the credentials
		l.at = s.Now()
	}
}

func (s *Sites) findSite(ctx context.Context, ref *infrav1.MaasIdentityReference, namespace string) (*openSite, error) {
	c, err := s.Finder.Find(ctx, ref, namespace)
	if err != nil {
		return nil, err
	}
	key := missingKeyPair("a MAAS from a Secret of the cluster's namespace gets no key pair for LXD", "Name a MaasClusterIdentity in spec.identityRef to get LXD hosts.")
	if !c.OfTenant {
		if key, err = s.readKeyPair(ctx); err != nil {
			return nil, err
		}
	}
	sum := c.digest(key.digestParts()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.open[sum]; have != nil {
		have.clearKeyRefused() // MAAS must say again whether it refuses the key
		return have, nil
	}
	made, err := s.newSite(c, key)
	if err == nil {
		s.open[sum] = made
	}
	return made, err
}

// sharedRegion returns what all sites of a MAAS share. It outlives the sites: a
// step of theirs may still be under way. The caller holds mu.
func (s *Sites) sharedRegion(name string) *region.Region {
	if s.regions[name] == nil {
		s.regions[name] = region.New()
	}
	return s.regions[name]
}

// noteUseAndCloseIdle notes the use of a site, and closes unused sites.
func (s *Sites) noteUseAndCloseIdle(now *openSite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.Now()
	now.lastUsed = at
	for sum, each := range s.open {
		if at.Sub(each.lastUsed) > idleAfter && !each.lastUsed.IsZero() {
			each.engine.Close()
			delete(s.open, sum)
		}
	}
}

// Close closes all sites. The caller closes the ledger.
func (s *Sites) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sum, each := range s.open {
		each.engine.Close()
		delete(s.open, sum)
	}
	clear(s.lookups)
}
