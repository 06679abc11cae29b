package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// cleanUp gives the lent machines back and removes everything with the prefix
// of the run. It fails where a life that passed has left something.
func (l *lifeWorld) cleanUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), sweepTimeout)
	defer cancel()
	for _, m := range l.lent {
		if err := l.api.GiveBack(ctx, m, l.settings.Interval); err != nil {
			t.Error(err)
		}
	}
	removed, err := l.removeRecords(ctx)
	if err != nil {
		t.Error(err)
	}
	lent := make([]string, len(l.lent))
	for n, m := range l.lent {
		lent[n] = m.SystemID
	}
	swept, err := l.api.Sweep(ctx, l.prefix, lent...)
	if err != nil {
		t.Error(err)
	}
	for _, server := range l.settings.LXDs {
		instances, err := server.Sweep(ctx, l.prefix)
		if err != nil {
			t.Error(err)
		}
		removed = append(removed, instances...)
	}
	for _, what := range append(removed, swept...) {
		if what != "resource pool "+l.lentPool {
			t.Errorf("leftover, now removed: %s", what)
		}
	}
}

// removeRecords removes the DNS records with the prefix.
func (l *lifeWorld) removeRecords(ctx context.Context) (removed []string, err error) {
	records, err := dnsRecords(ctx, l.api)
	for _, r := range records {
		if strings.HasPrefix(r.FQDN, l.prefix) {
			_, deleteErr := l.api.Send(ctx, "DELETE", "dnsresources/"+strconv.Itoa(r.ID)+"/", nil)
			removed, err = append(removed, "DNS record "+r.FQDN), errors.Join(err, deleteErr)
		}
	}
	return removed, err
}

// wantNothingLeft checks that MAAS and the LXDs have nothing of the run, and
// that the lent machines are Ready and without an owner.
func (l *lifeWorld) wantNothingLeft(t *testing.T) {
	t.Helper()
	waitFor(t, "nothing is left in MAAS and LXD", l.polling, func(ctx context.Context) string {
		left, err := l.leftInMAAS(ctx)
		if err != nil {
			return err.Error()
		}
		inLXD, err := l.leftInLXD(ctx)
		if err != nil {
			return err.Error()
		}
		return strings.Join(append(left, inLXD...), ", ")
	}, func() string { return "" })
	if l.remote != nil && len(l.settings.LXDs) == 0 {
		t.Logf("left out: look into LXD: %s names none", realmaas.LXDVariable)
	}
}

func (l *lifeWorld) leftInMAAS(ctx context.Context) (left []string, err error) {
	machines, err := l.api.Machines(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		switch {
		case strings.HasPrefix(m.Hostname, l.prefix):
			left = append(left, "machine "+m.Hostname+" is "+m.StatusName)
		case l.isLent(m.SystemID) && (m.StatusName != "Ready" || m.Owner != ""):
			left = append(left, fmt.Sprintf("lent machine %s is %s of %q", m.Hostname, m.StatusName, m.Owner))
		}
	}
	records, err := dnsRecords(ctx, l.api)
	for _, r := range records {
		if strings.HasPrefix(r.FQDN, l.prefix) {
			left = append(left, "DNS record "+r.FQDN)
		}
	}
	return left, err
}

func (l *lifeWorld) leftInLXD(ctx context.Context) (left []string, err error) {
	if l.maas != nil {
		for _, i := range l.maas.Instances() {
			if strings.HasPrefix(i.Name, l.prefix) {
				left = append(left, "instance "+i.Name)
			}
		}
	}
	for _, server := range l.settings.LXDs {
		all, err := server.Instances(ctx)
		if err != nil {
			return left, err
		}
		for _, i := range all {
			if strings.HasPrefix(i.Name, l.prefix) {
				left = append(left, "instance "+i.Name+" at "+i.Address)
			}
		}
	}
	return left, nil
}
