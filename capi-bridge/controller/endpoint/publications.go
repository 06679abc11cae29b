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

// publishedValidity is how long we rely on the known addresses of a name. A
// manual change in MAAS is corrected after this time.
const publishedValidity = 5 * time.Minute

// Publications remember the addresses of the clusters' names, so that not every
// control-plane machine must ask MAAS. Only the publisher of a name fills them:
// a read may be older than a publication that happens meanwhile.
//
// The zero value remembers nothing yet. A nil *Publications never remembers
// anything.
type Publications struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]Publication // by the namespace and name of a MaasCluster
}

// Publication is the set of addresses that a name was seen to point to.
type Publication struct {
	cluster     types.UID // of the MaasCluster that had the name then
	Site        *controller.Site
	Name        engine.DNSName
	Addresses   []netip.Addr // sorted
	PublishedAt time.Time
}

// KnownAddresses returns the addresses of a cluster's name in a MAAS, and
// whether they are still known.
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

// Remember stores the addresses that a cluster's name now points to.
func (p *Publications) Remember(cluster *infrav1.MaasCluster, is Publication) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[client.ObjectKey]Publication{}
	}
	is.cluster = cluster.UID
	p.seen[client.ObjectKeyFromObject(cluster)] = is
}

// Forget drops the addresses of a cluster, such as one that was deleted or has
// moved away.
func (p *Publications) Forget(cluster client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, cluster)
}
