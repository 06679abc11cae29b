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
	// retryAfter is for how long a failure to find credentials is believed: a
	// person who mends it waits no longer, and a hundred machines that wait for
	// it do not read a Secret each.
	retryAfter = 5 * time.Second
	// idleAfter is how long a site is kept open that nobody asks for. Machines
	// are looked at every minute.
	idleAfter = 10 * time.Minute
)

// Config is what Sites are made of.
type Config struct {
	Finder Finder
	// Ledger is what all sites share, each in a region of its own.
	Ledger ledger.Regions
	// Folder is where the fleet's key pair is made unless the Secret has one;
	// empty: nowhere.
	Folder string
	// KeyWriter makes the Secret of a pair that was made; nil: it is only in Folder.
	KeyWriter client.Writer
	// LXDKeySecret names the Secret, in the manager's namespace, with the
	// fleet's key pair for LXD.
	LXDKeySecret string
	// AllowInsecureKey lets the private half travel to a MAAS on plain http.
	AllowInsecureKey bool
	// Composer is who makes VMs: "auto", "maas" or "lxd".
	Composer string
	// ProbeLXD: new hosts are asked themselves whether they are ready. Otherwise
	// what MAAS knows of them suffices.
	ProbeLXD bool
	// CredentialsPeriod is the time after which credentials are read anew.
	CredentialsPeriod time.Duration
	// Timeout, Interval and MaxConns are those of maas.Config.
	Timeout  time.Duration
	Interval time.Duration
	MaxConns int

	UserAgent string
	Log       *slog.Logger
	// OnRequest is told of each request to the MAAS at an address; nil: nobody is.
	OnRequest func(address string) func(api.Call)
	// OnHostsListed is told when the LXD hosts of the MAAS at an address were listed;
	// nil: nobody is.
	OnHostsListed func(address string) func()
	// WrapLedger may count what the ledger is asked for; nil: nothing does.
	WrapLedger func(engine.Ledger) engine.Ledger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Sites keeps a site for each identity. It is safe for concurrent use.
type Sites struct {
	Config

	mu      sync.Mutex
	lookups map[credentialsUser]*lookup
	open    map[string]*openSite // by the sum of their credentials
	// regions are what the sites of one MAAS share, by its name in the ledger.
	regions map[string]*region.Region
}

var _ controller.Sites = (*Sites)(nil)

// credentialsUser is who looks for credentials: clusters of a namespace with an identity,
// or with none.
type credentialsUser struct {
	kind                infrav1.IdentityKind
	identity, namespace string
}

// lookup is what a looker found.
type lookup struct {
	mu   sync.Mutex // held while reading, so that one reads for all
	at   time.Time
	site *openSite // what was last usable; kept over passing failures
	err  error
}

// New returns Sites. Nothing is read before somebody asks.
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

// isStale tells whether credentials are to be read: when a while has passed, and
// sooner after a failure, or where MAAS refused them.
func (s *Sites) isStale(l *lookup) bool {
	age := s.Now().Sub(l.at)
	return l.at.IsZero() || age >= s.CredentialsPeriod || age >= retryAfter && (l.err != nil || l.site.isKeyRefused())
}

// readCredentials finds the credentials anew. What no credentials can do anything about, as
// an API server that does not answer, leaves a site that was found before.
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
		s.Log.WarnContext(ctx, "cannot read credentials anew", "error", err.Error())
	}
	if ctx.Err() == nil { // else it says nothing of the credentials
		l.at = s.Now()
	}
}

func (s *Sites) findSite(ctx context.Context, ref *infrav1.MaasIdentityReference, namespace string) (*openSite, error) {
	c, err := s.Finder.Find(ctx, ref, namespace)
	if err != nil {
		return nil, err
	}
	key := missingKeyPair("the MAAS is that of a Secret of the cluster's namespace, which is given no key pair for LXD", "Name a MaasClusterIdentity to have LXD hosts made.")
	if !c.OfTenant {
		if key, err = s.readKeyPair(ctx); err != nil {
			return nil, err
		}
	}
	sum := c.digest(key.digestParts()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.open[sum]; have != nil {
		have.clearKeyRefused() // by whoever reads anew: MAAS shall say again whether it refuses
		return have, nil
	}
	made, err := s.newSite(c, key)
	if err == nil {
		s.open[sum] = made
	}
	return made, err
}

// sharedRegion is what all sites of a MAAS share. It is kept when they are closed: a step
// of theirs may still be under way. The caller holds mu.
func (s *Sites) sharedRegion(name string) *region.Region {
	if s.regions[name] == nil {
		s.regions[name] = region.New()
	}
	return s.regions[name]
}

// noteUseAndCloseIdle notes that a site is, and closes those that are not any more.
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

// Close closes all sites. The ledger is its owner's to close.
func (s *Sites) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sum, each := range s.open {
		each.engine.Close()
		delete(s.open, sum)
	}
	clear(s.lookups)
}
