package attempt

// CountObjects is how many objects a ledger knows.
func (l *Ledger) CountObjects() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects)
}
