package hosts

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// hostForm is the checked form of a VM host's create or update. A field that was not given
// is nil.
type hostForm struct {
	name, address, project, password *string
	certificate, key                 *string
	zone                             *world.Zone
	pool                             *world.Pool
	tags                             []string
	hasTags                          bool
	cpuRatio, memRatio               *float64
	defaultPool                      *string
	macvlanMode                      *string
}

// OptionalField is a field's value, or nil if the form does not have it.
func OptionalField(c *request.Call, name string) *string {
	if !c.HasField(name) {
		return nil
	}
	value := c.Field(name)
	return &value
}

// readHostForm checks the fields that create and update share. In this form zone and pool
// are names.
func readHostForm(c *request.Call, errs rest.FormErrors) hostForm {
	f := hostForm{
		name: OptionalField(c, "name"), address: OptionalField(c, "power_address"), project: OptionalField(c, "project"), password: OptionalField(c, "password"),
		certificate: OptionalField(c, "certificate"), key: OptionalField(c, "key"), hasTags: c.HasField("tags"), tags: rest.SplitTags(c.Form["tags"]),
	}
	if name := c.Field("zone"); name != "" {
		if f.zone = c.World.ZoneNamed(name); f.zone == nil {
			errs.Add("zone", rest.InvalidChoice)
		}
	}
	if name := c.Field("pool"); name != "" {
		if f.pool = c.World.PoolNamed(name); f.pool == nil {
			errs.Add("pool", rest.InvalidChoice)
		}
	}
	f.cpuRatio = readRatio(c, errs, "cpu_over_commit_ratio")
	f.memRatio = readRatio(c, errs, "memory_over_commit_ratio")
	return f
}

// readRatio reads an over-commit ratio from 0 to 10.
func readRatio(c *request.Call, errs rest.FormErrors, field string) *float64 {
	text := c.Field(field)
	if text == "" {
		return nil
	}
	ratio, isNumber := rest.ReadFloat(text)
	switch {
	case !isNumber:
		errs.Add(field, "Enter a number.")
	case ratio > 10:
		errs.Add(field, "Ensure this value is less than or equal to 10.")
	case ratio < 0:
		errs.Add(field, "Ensure this value is greater than or equal to 0.")
	}
	return &ratio
}

// readUpdateOnly checks the fields that only an update has.
func (f *hostForm) readUpdateOnly(c *request.Call, h *world.VMHost, errs rest.FormErrors) {
	if kind := c.Field("type"); kind != "" && kind != "lxd" {
		errs.Add("type", "Cannot change the type of a pod. Delete and re-create the pod with a different type.")
	}
	if mode := OptionalField(c, "default_macvlan_mode"); mode != nil {
		f.macvlanMode = mode
		if !slices.Contains([]string{"", "bridge", "passthru", "private", "vepa"}, *mode) {
			errs.Add("default_macvlan_mode", rest.ChoiceProblem(*mode))
		}
	}
	if name := c.Field("default_storage_pool"); name != "" {
		f.defaultPool = &name
		if !slices.ContainsFunc(h.Pools, func(p daemon.StoragePool) bool { return p.Name == name }) {
			errs.Add("default_storage_pool", rest.InvalidChoice)
		}
	}
}

// applyTo writes the given fields to the record. It does not call the LXD.
func (f hostForm) applyTo(h *world.VMHost) {
	if f.name != nil {
		h.Name = cmp.Or(*f.name, h.World.RandomName()) // models/bmc.py, BMC.save
	}
	SetIfGiven(&h.CPURatio, f.cpuRatio)
	SetIfGiven(&h.MemRatio, f.memRatio)
	SetIfGiven(&h.DefaultPool, f.defaultPool)
	if f.zone != nil {
		h.Zone = f.zone
	}
	if f.pool != nil {
		h.Pool = f.pool
	}
	if f.hasTags {
		h.SetTags(f.tags)
	}
}

// SetIfGiven sets a field if a value was given.
func SetIfGiven[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// checkCertificatePair is MAAS's check of a certificate and its key. Both failures are
// internal errors in MAAS.
func checkCertificatePair(certificate, key string) *rest.Reply {
	certBlock, _ := pem.Decode([]byte(certificate))
	keyBlock, _ := pem.Decode([]byte(key))
	if certBlock == nil || keyBlock == nil {
		bad := InternalErrorReply("Invalid PEM material")
		return &bad
	}
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		bad := InternalErrorReply("Private and public keys don't match")
		return &bad
	}
	return nil
}

// NewCertificatePair makes the certificate of a VM host without one, as MAAS does.
func NewCertificatePair(name string) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("cannot make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", fmt.Errorf("cannot make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", fmt.Errorf("cannot write a key: %w", err)
	}
	return daemon.EncodePEM("CERTIFICATE", der), daemon.EncodePEM("PRIVATE KEY", keyDER), nil
}
