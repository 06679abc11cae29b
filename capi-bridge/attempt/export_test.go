package attempt

// Remembered is how many objects a ledger knows.
func (l *Ledger) Remembered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects)
}
