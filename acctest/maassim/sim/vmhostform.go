package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

const invalidChoice = "Select a valid choice. That choice is not one of the available choices."

func choiceProblem(value string) string {
	return fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value)
}

// hostForm is the checked form of a VM host's create or update. A nil field
// was not given.
type hostForm struct {
	name, address, project, password *string
	certificate, key                 *string
	zone                             *zone
	pool                             *pool
	tags                             []string
	hasTags                          bool
	cpuRatio, memRatio               *float64
	defaultPool                      *string
	macvlanMode                      *string
}

// text is a field's value, nil if the form does not have it.
func (c *call) text(name string) *string {
	if !c.has(name) {
		return nil
	}
	value := c.field(name)
	return &value
}

// readHostForm checks what create and update have in common; zone and pool are
// names here.
func readHostForm(c *call, errs formErrors) hostForm {
	f := hostForm{
		name: c.text("name"), address: c.text("power_address"), project: c.text("project"), password: c.text("password"),
		certificate: c.text("certificate"), key: c.text("key"), hasTags: c.has("tags"), tags: splitTags(c.form["tags"]),
	}
	if name := c.field("zone"); name != "" {
		if f.zone = c.w.zoneNamed(name); f.zone == nil {
			errs.add("zone", invalidChoice)
		}
	}
	if name := c.field("pool"); name != "" {
		if f.pool = c.w.poolNamed(name); f.pool == nil {
			errs.add("pool", invalidChoice)
		}
	}
	f.cpuRatio = readRatio(c, errs, "cpu_over_commit_ratio")
	f.memRatio = readRatio(c, errs, "memory_over_commit_ratio")
	return f
}

// readRatio reads an over-commit ratio: 0 to 10.
func readRatio(c *call, errs formErrors, field string) *float64 {
	text := c.field(field)
	if text == "" {
		return nil
	}
	ratio, isNumber := readFloat(text)
	switch {
	case !isNumber:
		errs.add(field, "Enter a number.")
	case ratio > 10:
		errs.add(field, "Ensure this value is less than or equal to 10.")
	case ratio < 0:
		errs.add(field, "Ensure this value is greater than or equal to 0.")
	}
	return &ratio
}

// readFloat reads a number as Django's FloatField does: finite ones only.
func readFloat(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// readUpdateOnly checks the fields that only an update knows.
func (f *hostForm) readUpdateOnly(c *call, h *vmHost, errs formErrors) {
	if kind := c.field("type"); kind != "" && kind != "lxd" {
		errs.add("type", "Cannot change the type of a pod. Delete and re-create the pod with a different type.")
	}
	if mode := c.text("default_macvlan_mode"); mode != nil {
		f.macvlanMode = mode
		if !slices.Contains([]string{"", "bridge", "passthru", "private", "vepa"}, *mode) {
			errs.add("default_macvlan_mode", choiceProblem(*mode))
		}
	}
	if name := c.field("default_storage_pool"); name != "" {
		f.defaultPool = &name
		if !slices.ContainsFunc(h.pools, func(p StoragePoolModel) bool { return p.Name == name }) {
			errs.add("default_storage_pool", invalidChoice)
		}
	}
}

// apply writes what the form gives to the record; the LXD is not asked.
func (f hostForm) apply(h *vmHost) {
	set(&h.name, f.name)
	set(&h.cpuRatio, f.cpuRatio)
	set(&h.memRatio, f.memRatio)
	set(&h.defaultPool, f.defaultPool)
	if f.zone != nil {
		h.zone = f.zone
	}
	if f.pool != nil {
		h.pool = f.pool
	}
	if f.hasTags {
		h.setTags(f.tags)
	}
}

// set writes a value that was given.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// checkPair is MAAS's check of a certificate with its key. Both failures are
// internal errors there.
func checkPair(certificate, key string) *reply {
	certBlock, _ := pem.Decode([]byte(certificate))
	keyBlock, _ := pem.Decode([]byte(key))
	if certBlock == nil || keyBlock == nil {
		bad := internalError("Invalid PEM material")
		return &bad
	}
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		bad := internalError("Private and public keys don't match")
		return &bad
	}
	return nil
}

// newPair is the certificate that MAAS makes for a VM host without one.
func newPair(name string) (certificate, key string, err error) {
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
	return encodePEM("CERTIFICATE", der), encodePEM("PRIVATE KEY", keyDER), nil
}

func encodePEM(kind string, der []byte) string {
	return strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}
