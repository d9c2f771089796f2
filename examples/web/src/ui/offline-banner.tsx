import { onlineManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

/** Says that the browser is offline. Everything is loaded again when it is back. */
export function OfflineBanner() {
  const isOnline = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
  return (
    <div className="offline-banner" role="status">
      {!isOnline && <p>You are offline. Everything is loaded when the connection is back.</p>}
    </div>
  );
}
