package identity

// AwaitStart waits until the documents that Start reads are read. Until then that reading can end after a
// later exchange, and Status tells its outcome.
func (s *Service) AwaitStart() { s.provider.client.work.Wait() }
