package lxd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine"
)

// fingerprintRecorder remembers which servers' certificates were recorded.
type fingerprintRecorder struct {
	recordFingerprint func(ctx context.Context, machineID, fingerprint string) (known string, err error) // may be nil
	timeout           time.Duration
	log               *slog.Logger

	flight   singleflight.Group
	recorded sync.Map // system id of the machine to target.identity
}

// identity returns address and pinned certificate. It changes when either changes.
func (t target) identity() string { return t.address + " " + t.pinned }

// forgetUnlisted forgets servers that are no longer listed: their machines may come back
// with other LXDs.
func (k *fingerprintRecorder) forgetUnlisted(servers []Server) {
	k.recorded.Range(func(machineID, _ any) bool {
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.MachineID == machineID }) {
			k.recorded.Delete(machineID)
		}
		return true
	})
}

// record records once which certificate a server is known by. Reads do not record: a plan
// writes nothing. If recording fails, only this process pins the certificate, and tries
// again later. If another certificate is recorded by now, nothing more is sent.
func (k *fingerprintRecorder) record(ctx context.Context, s *session, server Server) error {
	if k.recordFingerprint == nil || server.Fingerprint != "" {
		return nil
	}
	if done, _ := k.recorded.Load(server.MachineID); done == s.target.identity() {
		return nil
	}
	_, err, _ := k.flight.Do(server.MachineID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timeout)
		defer cancel()
		known, err := k.recordFingerprint(ctx, server.MachineID, s.target.pinned)
		if err == nil && known != s.target.pinned {
			err = &otherCertificateError{shown: s.target.pinned, pinned: known}
		}
		if err == nil {
			k.recorded.Store(server.MachineID, s.target.identity())
		}
		return nil, err
	})
	if _, other := errors.AsType[*otherCertificateError](err); other {
		return hostError(s.explainError(err), server.Name)
	}
	if err != nil {
		k.log.InfoContext(ctx, "cannot note which certificate an LXD shows", "host", server.Name, slog.Any("error", err))
	}
	return nil
}

// RecordFingerprint notes on the machine of a host which certificate its LXD showed, unless
// the machine already names one. It returns the one that the machine names then.
func (r *Registry) RecordFingerprint(ctx context.Context, machineID, fingerprint string) (known string, err error) {
	m, err := r.machines.Machine(ctx, machineID)
	if err != nil {
		return "", err
	}
	record, ok := m.HostRecord()
	switch {
	case !ok:
		return "", fmt.Errorf("machine %s is not an LXD host: %w", m.Hostname, engine.ErrNotFound)
	case record.ServerFingerprint != "":
		return record.ServerFingerprint, nil
	}
	if err := r.annotateMachine(ctx, m, engine.ServerNote(fingerprint)); err != nil {
		return "", err
	}
	if m, err = r.machines.Machine(ctx, machineID); err != nil { // another process may have noted another one
		return "", err
	}
	record, _ = m.HostRecord()
	return record.ServerFingerprint, nil
}
