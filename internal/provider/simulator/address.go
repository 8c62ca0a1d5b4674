package simulator

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"strconv"

	"biztraak.dev/vm/internal/provider"
)

// addresses are those of a machine in a phase. The private one stays for life;
// the public one is another at each start, and there is none while it is off.
func (m machine) addresses(p phase) []provider.Address {
	if p.publicLease == 0 {
		return nil
	}
	return []provider.Address{
		{Scope: provider.ScopePublic, IP: m.publicIP(p.publicLease)},
		{Scope: provider.ScopePrivate, IP: m.privateIP()},
	}
}

// publicIP is in the block that RFC 2544 sets aside for benchmarks, so it is no
// real host's. Two leases in a row differ: their last bits do.
func (m machine) publicIP(lease int) netip.Addr {
	h := hashOf("public", m.id, strconv.Itoa(lease))
	return netip.AddrFrom4([4]byte{198, 18 | byte(h>>16)&1, byte(h >> 8), byte(h)&^3 | byte(lease)&3})
}

// privateIP is in 10.0.0.0/8.
func (m machine) privateIP() netip.Addr {
	h := hashOf("private", m.id)
	return netip.AddrFrom4([4]byte{10, byte(h >> 16), byte(h >> 8), byte(h)})
}

// hashOf is a number that follows from the parts alone.
func hashOf(parts ...string) uint32 {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return binary.BigEndian.Uint32(hash.Sum(nil))
}
