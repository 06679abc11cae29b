package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// originalVMName is the name of the VM that is copied.
const originalVMName = "bench-1"

// vmIdentity is what names a VM: its name, MAAS's system id, and the marker of
// its key.
type vmIdentity struct{ name, systemID, marker string }

// identityReplacer replaces the names of one VM by those of another.
func identityReplacer(from, to vmIdentity) *strings.Replacer {
	return strings.NewReplacer(from.name, to.name, from.systemID, to.systemID, from.marker, to.marker)
}

// copyVM makes copies of the one VM that an apply has made, with their state.
// Terraform itself would take minutes for thousands. It sends the calls of the
// apply to MAAS again with other names, so that MAAS shows of each VM what our
// provider leaves.
func (w *workspace) copyVM(ctx context.Context, want int, made sim.Journal) error {
	one, owner, err := w.originalVM()
	if err != nil {
		return err
	}
	copies := make([]vmIdentity, want-1)
	for n := range copies {
		name := fmt.Sprintf("bench-%d", n+2)
		copies[n] = vmIdentity{name: name, marker: engine.MarkerOf(engine.Key(owner + "/" + name))}
	}
	client := &callRepeater{transport: w.maas.RoundTripper(), base: w.maas.URL, key: w.maas.APIKey()}
	for _, c := range made.Calls {
		if !changesVM(c, one) {
			continue
		}
		sending, ctx := errgroup.WithContext(ctx)
		sending.SetLimit(64)
		for n := range copies {
			sending.Go(func() error { return client.repeat(ctx, c, one, &copies[n]) })
		}
		if err := sending.Wait(); err != nil {
			return err
		}
		w.maas.Settle()
	}
	return copyState(filepath.Join(w.dir, "terraform.tfstate"), one, copies)
}

// originalVM finds the one VM and its owner.
func (w *workspace) originalVM() (one vmIdentity, owner string, err error) {
	for _, m := range w.maas.Machines() {
		if m.Hostname != originalVMName {
			continue
		}
		words := strings.Fields(m.Description)
		if len(words) != 2 || !strings.HasSuffix(words[1], "/"+originalVMName) {
			return one, "", fmt.Errorf("%s has the mark %q, want a marker and a key", originalVMName, m.Description)
		}
		return vmIdentity{originalVMName, m.SystemID, words[0]}, strings.TrimSuffix(words[1], "/"+originalVMName), nil
	}
	return one, "", errors.New("there is no VM " + originalVMName)
}

// changesVM reports whether a call changed or made the VM.
func changesVM(c sim.Call, vm vmIdentity) bool {
	changed := c.Status >= 200 && c.Status < 300 && !strings.HasPrefix(c.Route, http.MethodGet+" ")
	return changed && (strings.Contains(c.Path, vm.systemID) || isCompose(c))
}

func isCompose(c sim.Call) bool { return strings.HasSuffix(c.Route, " compose") }

// callRepeater sends calls again.
type callRepeater struct {
	transport http.RoundTripper
	base, key string
	nonce     atomic.Int64
}

// repeat sends a call about one VM again for another. After a compose it stores
// the new system id.
func (r *callRepeater) repeat(ctx context.Context, c sim.Call, from vmIdentity, to *vmIdentity) error {
	say := identityReplacer(from, *to)
	form := url.Values{}
	for name, values := range c.Form {
		for _, v := range values {
			form.Add(name, say.Replace(v))
		}
	}
	at, err := url.Parse(r.base)
	if err != nil {
		return err
	}
	at.Path, at.RawQuery = say.Replace(c.Path), url.Values(c.Query).Encode()
	method, _, _ := strings.Cut(c.Route, " ")
	req, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", r.signature())
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		return errors.Join(fmt.Errorf("%s for %s: %s: %s", c.Route, to.name, resp.Status, body), err)
	}
	if !isCompose(c) {
		return nil
	}
	var composed struct {
		SystemID string `json:"system_id"`
	}
	err = json.Unmarshal(body, &composed)
	to.systemID = composed.SystemID
	return err
}

func (r *callRepeater) signature() string {
	parts := strings.Split(r.key, ":")
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", `+
		`oauth_signature="%%26%s", oauth_nonce="copy%d", oauth_timestamp="%d"`, parts[0], parts[1], parts[2], r.nonce.Add(1), time.Now().Unix())
}

// copyState adds the copies to the state, beside the original.
func copyState(file string, one vmIdentity, copies []vmIdentity) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var state map[string]json.RawMessage
	var resources []map[string]json.RawMessage
	var instances []json.RawMessage
	err = errors.Join(json.Unmarshal(text, &state), json.Unmarshal(state["resources"], &resources))
	if err != nil || len(resources) != 1 {
		return errors.Join(fmt.Errorf("%s has %d resources, want one", file, len(resources)), err)
	}
	if err := json.Unmarshal(resources[0]["instances"], &instances); err != nil {
		return err
	}
	instances = instances[:1]
	for n, c := range copies {
		i, err := copyInstance(instances[0], n+1, identityReplacer(one, c))
		if err != nil {
			return err
		}
		instances = append(instances, i)
	}
	resources[0]["instances"], err = json.Marshal(instances)
	if err != nil {
		return err
	}
	if state["resources"], err = json.Marshal(resources); err != nil {
		return err
	}
	if text, err = json.Marshal(state); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// copyInstance is an instance of the state with another index and other names.
// It also renames what is in the private state.
func copyInstance(of json.RawMessage, index int, say *strings.Replacer) (json.RawMessage, error) {
	var instance map[string]json.RawMessage
	if err := json.Unmarshal([]byte(say.Replace(string(of))), &instance); err != nil {
		return nil, err
	}
	var whole []byte // of the private state; the file has it in base64, like all bytes
	var private map[string][]byte
	if err := json.Unmarshal(instance["private"], &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole, &private); err != nil {
		return nil, err
	}
	for key, value := range private {
		private[key] = []byte(say.Replace(string(value)))
	}
	var errs [3]error
	whole, errs[0] = json.Marshal(private)
	instance["private"], errs[1] = json.Marshal(whole)
	instance["index_key"], errs[2] = json.Marshal(index)
	out, err := json.Marshal(instance)
	return out, errors.Join(append(errs[:], err)...)
}
