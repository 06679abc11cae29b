package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestDomains(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Domains.Create(&entity.DomainParams{Name: "lab", TTL: 60, Authoritative: true}))
		wantSame(t, "the TTL", must(c.Domain.Get(made.ID)).TTL, 60)
		must(c.Domain.Update(made.ID, &entity.DomainParams{Name: "lab2", Authoritative: true}))
		domain := func(d entity.Domain) string { return d.Name }
		wantContains(t, "the domains", names(must(c.Domains.Get()), domain), "lab2", true)
		mustSucceed(c.Domain.Delete(made.ID))
		wantContains(t, "the domains", names(must(c.Domains.Get()), domain), "lab2", false)
	})
}

func TestDNSResources(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.DNSResources.Create(&entity.DNSResourceParams{Name: "api", Domain: "example", IPAddresses: "10.77.0.50", AddressTTL: 30}))
		d := must(c.DNSResource.Get(made.ID))
		wantSame(t, "the name", d.FQDN, "api.example")
		wantSame(t, "the address", d.IPAddresses[0].IP.String(), "10.77.0.50")
		must(c.DNSResource.Update(made.ID, &entity.DNSResourceParams{IPAddresses: "10.77.0.51", AddressTTL: 30}))
		wantSame(t, "the address", must(c.DNSResource.Get(made.ID)).IPAddresses[0].IP.String(), "10.77.0.51")
		fqdn := func(d entity.DNSResource) string { return d.FQDN }
		in := &entity.DNSResourcesParams{Domain: "example"}
		wantContains(t, "the names", names(must(c.DNSResources.Get(in)), fqdn), "api.example", true)
		mustSucceed(c.DNSResource.Delete(made.ID))
		wantContains(t, "the names", names(must(c.DNSResources.Get(in)), fqdn), "api.example", false)
	})
}

func TestDNSResourceRecords(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.DNSResourceRecords.Create(&entity.DNSResourceRecordParams{Name: "www", Domain: "example", RRType: "TXT", RRData: "hello", TTL: 30}))
		wantSame(t, "the data", must(c.DNSResourceRecord.Get(made.ID)).RRData, "hello")
		data := func(r entity.DNSResourceRecord) string { return r.RRData }
		in := &entity.DNSResourceRecordsParams{Domain: "example"}
		wantContains(t, "the data", names(must(c.DNSResourceRecords.Get(in)), data), "hello", true)
		must(c.DNSResourceRecord.Update(made.ID, &entity.DNSResourceRecordParams{RRType: "TXT", RRData: "bye", TTL: 60}))
		wantSame(t, "the new data", must(c.DNSResourceRecord.Get(made.ID)).RRData, "bye")
		mustSucceed(c.DNSResourceRecord.Delete(made.ID))
		wantContains(t, "the data", names(must(c.DNSResourceRecords.Get(in)), data), "bye", false)
	})
}

func TestDefaultDomain(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Domains.Create(&entity.DomainParams{Name: "lab", Authoritative: true}))
		must(c.Domain.SetDefault(made.ID))
		wantSame(t, "that it is the default", must(c.Domain.Get(made.ID)).IsDefault, true)
		wantSame(t, "that maas is the default", must(c.Domain.Get(0)).IsDefault, false)
	})
}
