package endpoint

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
)

// publishedValidity is how long nobody is asked what a name points to: until then, who
// changes it by hand in MAAS is not corrected.
const publishedValidity = 5 * time.Minute

// Publications remember to what the names of clusters point, so that not each
// machine of a control plane must ask MAAS. Only who publishes a name fills them:
// a read may be older than what is published meanwhile.
//
// The zero value remembers nothing yet; nil never does.
type Publications struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]Publication // by the name of a MaasCluster
}

// Publication is what a name was seen to point to.
type Publication struct {
	cluster     types.UID // of the MaasCluster that had the name then
	Site        *controller.Site
	Name        engine.DNSName
	Addresses   []netip.Addr // sorted
	PublishedAt time.Time
}

// KnownAddresses are the addresses of a cluster's name in a MAAS, unless that is not known
// or not any more.
func (p *Publications) KnownAddresses(cluster *infrav1.MaasCluster, site *controller.Site, name engine.DNSName, now time.Time) ([]netip.Addr, bool) {
	if p == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	is, ok := p.seen[client.ObjectKeyFromObject(cluster)]
	if !ok || is.cluster != cluster.UID || is.Site != site || is.Name != name || now.Sub(is.PublishedAt) >= publishedValidity {
		return nil, false
	}
	return slices.Clone(is.Addresses), true
}

// Remember keeps to what the name of a cluster was made to point.
func (p *Publications) Remember(cluster *infrav1.MaasCluster, is Publication) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[client.ObjectKey]Publication{}
	}
	is.cluster = cluster.UID
	p.seen[client.ObjectKeyFromObject(cluster)] = is
}

// Forget drops what is known of a cluster, as when it was deleted or has moved away.
func (p *Publications) Forget(cluster client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, cluster)
}
