import { client, SearchAPI } from 'space-service';
import { createQueryClient } from 'space-service/tanstack-react-query';
import { session } from './session.ts';

/** The service. By default, it has the origin of this page. */
const baseUrl = import.meta.env.VITE_API_URL || location.origin;

client.setConfig({ baseUrl });

export const searchApi = new SearchAPI({ baseUrl });

export const queryClient = createQueryClient({ session });
