import './styles/base.css';
import './styles/controls.css';
import './styles/start.css';
import './styles/space.css';
import './styles/account.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api.ts';
import { App } from './app.tsx';
import { keepFocus } from './ui/focus.ts';

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element #root.');
keepFocus(root);
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
