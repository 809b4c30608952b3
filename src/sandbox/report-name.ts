/** The reports that the service has. */
export type ReportName = 'promotions' | 'orders' | 'commissions';
